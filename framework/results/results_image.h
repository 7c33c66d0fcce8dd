#pragma once

// The bytes of a results file. A file is HDF5 data followed by one line of 32 bytes, which HDF5
// does not read:
//
//   "\nemplace-results crc32 89abcdef\n"   CRC-32 (of zlib, PNG, ...) of all bytes before the line
//
// So any damage to a file is found before HDF5 reads it, but no malice.

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/base/error.h"

namespace emplace {

/// A results file that differs from the written one: not HDF5, truncated, or with other bytes.
/// ResultsFile never leaves such a file, but a disk, a copy or a power failure may.
class DamagedError : public InputError {
 public:
  using InputError::InputError;
};

namespace internal {

/// Returns the line that follows `hdf5` in the file.
std::string ChecksumLine(std::string_view hdf5);

/// Returns the HDF5 data, whose checksum is right.
/// @throws InputError if there is no such file or it cannot be read
/// @throws DamagedError if it is damaged
std::string ReadResultsImage(const std::filesystem::path& path);

}  // namespace internal

}  // namespace emplace
