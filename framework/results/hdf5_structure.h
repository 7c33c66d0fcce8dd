#pragma once

// Checks the structure of an HDF5 file before HDF5 reads it. HDF5 1.10 trusts most addresses, sizes
// and indices that it finds in a file, and a damaged one ends the process (H5HG_read follows an
// index beyond its heap). Files of version 2 have a checksum, which finds every damage but no
// malice: who makes a file to do harm makes the checksum as well. So all files are checked.
//
// Known is what ResultsFile has ever made HDF5 write, all of HDF5's classic format:
//   superblock 0; object headers 1; groups as symbol tables (B-tree 1, local heap); attributes in
//   the object header; numbers of 1 to 8 bytes, texts of fixed and of variable length (global
//   heap), compound types of them; datasets contiguous, compact or in chunks with shuffle and
//   deflate
// Everything that is reachable is looked at: every address and size lies in the file and no two
// structures share a byte; lists end; trees are in order; types and sizes agree with the data;
// every text of variable length is in its heap with its length; every chunk is there and unpacks to
// its size. What it unpacks to is bounded as well: no text is shared, no chunk has more rows than
// emplace writes, no dataset in chunks unpacks to more than 2 GiB. Damage to the numbers and
// letters of the data themselves cannot be seen.

#include <string>
#include <string_view>

namespace emplace::internal {

/// What is wrong with a file: "object header at byte 96: it has 3 messages, expected 4". Empty if
/// HDF5 can read all of it. A sound file that uses more of HDF5 than is known here counts as
/// damaged.
std::string FindHdf5Damage(std::string_view file);

}  // namespace emplace::internal
