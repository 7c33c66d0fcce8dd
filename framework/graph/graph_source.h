#pragma once

#include <filesystem>
#include <string>

namespace emplace {

/// Where a graph comes from, in one line: framework, model and batch of the file's `source`, as in
/// "torch 2.5.1, torchvision inception_v3, batch 32". What `source` does not tell is left out.
///
/// Made for lists of many files: only the first 64 KiB (after decompression) are read, and nothing
/// is checked. Empty if no `source` ends within them, or if the file cannot be read; ReadGraph()
/// says what is wrong with it.
std::string ReadGraphSource(const std::filesystem::path& path);

}  // namespace emplace
