#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

/// Writes all of `text` into an open file, in as many calls as that takes: one may write a part.
/// @param file    descriptor
/// @param offset  in the file [B]
/// @return false, with errno set, if it cannot be written; a part of it may be
bool WriteAt(int file, std::string_view text, std::int64_t offset);

}  // namespace emplace
