#pragma once

// The bytes of a results file as a whole. A file is HDF5 data and, after its end, where HDF5 looks
// at nothing, one line of 32 bytes:
//
//   "\nemplace-results crc32 89abcdef\n"   CRC-32 (of zlib, PNG, ...) of all bytes before the line
//
// So whatever happens to a file is found before HDF5 sees it.

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/base/error.h"

namespace emplace {

/// A results file that is not as it was written: no HDF5, cut off, with other bytes. ResultsFile
/// never leaves such a file, but a disk, a copy or a loss of power may.
class DamagedError : public InputError {
 public:
  using InputError::InputError;
};

namespace internal {

/// The line that follows `hdf5` in the file.
std::string ChecksumLine(std::string_view hdf5);

/// Returns the HDF5 data, which HDF5 can read without coming to harm.
/// @throws InputError if there is no such file or it cannot be read
/// @throws DamagedError if it is damaged
std::string ReadResultsImage(const std::filesystem::path& path);

}  // namespace internal

}  // namespace emplace
