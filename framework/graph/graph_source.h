#pragma once

#include <filesystem>
#include <string>

namespace emplace {

/// Returns the origin of a graph in one line: framework, model and batch of the file's `source`,
/// such as "torch 2.5.1, torchvision inception_v3, batch 32". Omits unknown parts.
///
/// For lists of many files: reads only the first 64 KiB (after decompression) and checks nothing.
/// Returns "" if no `source` ends within them, or if the file cannot be read. ReadGraph() reports
/// such errors.
std::string ReadGraphSource(const std::filesystem::path& path);

}  // namespace emplace
