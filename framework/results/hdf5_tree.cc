#include "framework/results/hdf5_tree.h"

#include <map>
#include <optional>

#include <fmt/format.h>

namespace emplace::internal::hdf5 {
namespace {

// A node of a tree and the one at its right, by level, as far as the walk has come.
struct NodeRow {
  Address last = kNowhere, right = kNowhere;
};

// @param left, right  keys that the node above has, empty at the root
void WalkNode(ClaimedFile& file,
              Address address,
              const TreeKind& kind,
              std::optional<std::uint64_t> expected_level,
              std::string_view left,
              std::string_view right,
              std::map<std::uint64_t, NodeRow>& rows) {
  const size_t size =
      8 + 2 * kWidth + kind.capacity * kWidth + (kind.capacity + 1) * kind.key_bytes;
  FieldReader node = file.ClaimSigned(address, size, "TREE", "tree node");
  const std::uint64_t type = node.Take(1), level = node.Take(1), count = node.Take(2);
  node.Require(type == kind.type && level == expected_level.value_or(level) &&
                   count <= kind.capacity && (count > 0 || !expected_level),
               "not of the kind that its tree is");
  NodeRow& row = rows[level];
  const Address left_node = node.Take(kWidth), right_node = node.Take(kWidth);
  node.Require(left_node == row.last && (row.last == kNowhere || row.right == address),
               "its neighbours are others");
  row = {address, right_node};
  std::string_view key = node.TakeBytes(kind.key_bytes);
  node.Require(left.empty() || key == left, "the node above has another key");
  for (std::uint64_t i = 0; i < count; ++i) {
    const Address child = node.Take(kWidth);
    const std::string_view next = node.TakeBytes(kind.key_bytes);
    if (level == 0) {
      kind.visit_leaf(child, key, next);
    } else {
      WalkNode(file, child, kind, level - 1, key, next, rows);
    }
    key = next;
  }
  node.Require(right.empty() || key == right, "the node above has another key");
}

}  // namespace

void WalkTree(ClaimedFile& file, Address root, const TreeKind& kind) {
  std::map<std::uint64_t, NodeRow> rows;
  WalkNode(file, root, kind, {}, {}, {}, rows);
  for (const auto& [level, row] : rows) {
    if (row.right != kNowhere) {
      Damaged(fmt::format("tree node at byte {}", row.last),
              "it has a neighbour that is not there");
    }
  }
}

}  // namespace emplace::internal::hdf5
