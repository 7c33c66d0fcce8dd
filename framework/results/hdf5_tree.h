#pragma once

// B-trees of version 1, in which groups have their links and datasets their chunks, for
// hdf5_structure.h.

#include <cstdint>
#include <functional>
#include <string_view>

#include "framework/results/hdf5_fields.h"

namespace emplace::internal::hdf5 {

struct TreeKind {
  std::uint64_t type;  ///< that its nodes say
  std::size_t key_bytes;
  std::size_t capacity;  ///< children of a node
  /// Called for each leaf, in order. @param left, right  keys of its two sides
  std::function<void(Address leaf, std::string_view left, std::string_view right)> visit_leaf;
};

/// Visits all leaves of a tree and claims its nodes.
/// @throws Damage if nodes are of another kind, know other neighbours, or repeat keys otherwise
void WalkTree(ClaimedFile& file, Address root, const TreeKind& kind);

}  // namespace emplace::internal::hdf5
