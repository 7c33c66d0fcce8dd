#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

/// Writes all of `text` into an open file. Repeats the system call if it writes only a part.
/// @param file    descriptor
/// @param offset  position in the file [B]
/// @return false, with errno set, on an error; a part of the text may be written then
bool WriteAt(int file, std::string_view text, std::int64_t offset);

}  // namespace emplace
