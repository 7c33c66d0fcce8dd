#pragma once

// The bytes of a results file as a whole. From version 2 on a file is HDF5 data and, behind its
// end, where HDF5 looks at nothing, one line of 32 bytes:
//
//   "\nemplace-results crc32 89abcdef\n"   CRC-32 (of zlib, PNG, ...) of all bytes before the line
//
// So whatever happens to a file is found before HDF5 sees it. A file of version 1 has no such line;
// its structure is checked instead (hdf5_structure.h), damaged numbers and letters are not found.

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

struct ResultsImage {
  std::string hdf5;           ///< what HDF5 can read without coming to harm
  bool has_checksum = false;  ///< every byte is as it was written
};

/// The line that follows `hdf5` in the file.
std::string ChecksumLine(std::string_view hdf5);

/// @throws InputError if there is no such file or it cannot be read
/// @throws DamagedError if it is damaged
ResultsImage ReadResultsImage(const std::filesystem::path& path);

}  // namespace internal

}  // namespace emplace
