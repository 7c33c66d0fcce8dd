#pragma once

// The rule for versions of file formats (framework/FORMATS.md, "Versions") and its messages.

#include <cstdint>
#include <string>

namespace emplace {

/// Checks the version of a file. A program that writes version `newest` reads 1 to `newest`.
/// @return empty if the version can be read, otherwise the reason: "expected at most 1, got 2: made
///   by a newer version of emplace", or "expected 1 to 2, got 0". The caller adds file and key.
std::string WhyUnreadable(std::int64_t version, std::int64_t newest);

}  // namespace emplace
