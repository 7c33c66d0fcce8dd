#pragma once

// Checks the structure of an HDF5 file before HDF5 reads it. HDF5 1.10 trusts most addresses, sizes
// and indices that it finds in a file, and a damaged one ends the process (H5HG_read follows an
// index beyond its heap). Results files have a checksum, which finds damage but not
// malice: an attacker writes the right checksum. So the structure of every file is checked.
//
// The check knows the part of HDF5's classic format that ResultsFile uses:
//   superblock 0; object headers 1; groups as symbol tables (B-tree 1, local heap); attributes in
//   the object header; numbers of 1 to 8 bytes, texts of fixed and of variable length (global
//   heap), compound types of them; datasets contiguous, compact or in chunks with shuffle and
//   deflate
// It follows every reachable object. Every address and size lies in the file, and no two structures
// share a byte. Lists end, and trees are in order. Types and sizes agree with the data. Every text
// of variable length is in its heap with its length. Every chunk exists and unpacks to its size.
// Unpacked sizes are bounded as well: no text is shared, no chunk has more rows than emplace
// writes, and no dataset in chunks unpacks to more than 2 GiB. Damage to the numbers and letters of
// the data themselves is not found.

#include <string>
#include <string_view>

namespace emplace::internal {

/// Returns the first damage of a file: "object header at byte 96: it has 3 messages, expected 4".
/// Empty if HDF5 can read all of it. A sound file that uses more of HDF5 than this check knows
/// counts as damaged.
std::string FindHdf5Damage(std::string_view file);

}  // namespace emplace::internal
