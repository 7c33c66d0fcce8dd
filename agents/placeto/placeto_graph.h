#pragma once

// The structure that the policy follows: which groups feed which, directly and transitively.
//
// A group u is a parent of v if an op of v depends on an op of u (data or control). Groups of a
// training graph may be parents of each other: one holds ops with their gradients, or parameters
// with their updates. Messages go along these edges, both ways where there are both.
//
// Followed transitively, nearly all groups of such a graph are ancestors and descendants of one
// another, and the pools are all alike. So the pools follow edges in the direction of
// Problem::group_order() [ours]: there a group is above another if one is a parent of the other and
// comes before it. For a graph without cycles nothing changes.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/learn/ops.h"
#include "framework/search/problem.h"

namespace emplace {

/// The groups whose vectors are summed for the current one (NeurIPS 2019, three pools [V]).
enum class Pool : std::uint8_t { kAncestors, kDescendants, kParallel };
inline constexpr int kNumPools = 3;

class PlacetoGraph {
 public:
  /// Transitive closures take num_groups^2 bits.
  /// @param mean  rows of parents() and children() sum to 1 instead of counting
  explicit PlacetoGraph(const Problem& problem, bool mean = false);
  int num_groups() const { return static_cast<int>(has_parent_.rows()); }

  /// [num_groups, num_groups] 1 (mean: 1 / number of parents) at (v, u) if u is a parent of v.
  const std::shared_ptr<const SparseMatrix>& parents() const { return parents_; }
  /// The same of children.
  const std::shared_ptr<const SparseMatrix>& children() const { return children_; }
  const Matrix& has_parent() const { return has_parent_; }  ///< [num_groups, 1]: 0 or 1
  const Matrix& has_child() const { return has_child_; }    ///< [num_groups, 1]: 0 or 1
  /// All transitive ancestors or descendants in order, or the groups that are neither; ascending,
  /// without the group itself.
  const std::vector<int>& members(Pool pool, int group) const {
    return pools_[static_cast<int>(pool)][group];
  }

 private:
  std::shared_ptr<const SparseMatrix> parents_, children_;
  Matrix has_parent_, has_child_;
  std::vector<std::vector<int>> pools_[kNumPools];
};

}  // namespace emplace
