#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace emplace::fuzz {

/// @param level  of zlib, 0 to 9
std::string Gzip(std::string_view content, int level = 6);

/// The first member; empty if it is none or has more than `most` bytes.
std::string Gunzip(std::string_view packed, std::size_t most);

}  // namespace emplace::fuzz
