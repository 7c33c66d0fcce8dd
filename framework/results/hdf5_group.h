#pragma once

// Groups: their links in a tree, the names of those in a local heap, for hdf5_structure.h.

#include <optional>
#include <vector>

#include "framework/results/hdf5_fields.h"

namespace emplace::internal::hdf5 {

/// Names of a leaf of the tree of links are at most twice this, children of its nodes at most twice
/// that.
inline constexpr std::uint64_t kHalfLeaf = 4, kHalfNode = 16;

/// Where a group has its links.
struct SymbolTable {
  Address tree = kNowhere, heap = kNowhere;
  bool operator==(const SymbolTable&) const = default;
};

/// The object that a link leads to.
struct LinkedObject {
  Address address;
  std::optional<SymbolTable> cached;  ///< the table of a group as the link describes it
};

/// The table that a link repeats. @param is_cached  false: the link has none, its bytes are unused
std::optional<SymbolTable> TakeCached(FieldReader& fields, bool is_cached);

/// Checks a group's links, which have names in order, none of them a path: "." would be the group
/// itself. @return what they lead to. @throws Damage
std::vector<LinkedObject> CheckGroup(ClaimedFile& file, const SymbolTable& table);

}  // namespace emplace::internal::hdf5
