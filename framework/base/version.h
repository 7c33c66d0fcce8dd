#pragma once

// The one rule for versions of file formats (framework/FORMATS.md, "Versions"), and its wording.

#include <cstdint>
#include <string>

namespace emplace {

/// A program that writes version `newest` of a format reads 1 to `newest`.
/// @param version  of a file
/// @return empty if it can be read, else why not: "expected at most 1, got 2: made by a newer
///   version of emplace", or "expected 1 to 2, got 0". The caller adds the file and the key.
std::string WhyUnreadable(std::int64_t version, std::int64_t newest);

}  // namespace emplace
