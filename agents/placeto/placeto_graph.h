#pragma once

// The dependences between groups, direct and transitive, that the policy follows.
//
// A group u is a parent of v if an op of v depends on an op of u (data or control). Groups of a
// training graph may be parents of each other, for example if one group holds ops with their
// gradients or parameters with their updates. Messages follow these edges, in both directions where
// both exist.
//
// Along such edges nearly all groups of a training graph are transitive ancestors and descendants
// of one another, and all pools are alike. The pools therefore use each edge in the direction of
// Problem::group_order(), from the earlier group to the later one; this is not in the paper. It
// changes nothing for a graph without cycles.

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/learn/ops.h"
#include "framework/search/problem.h"

namespace emplace {

/// The three pools of groups whose vectors are summed for the current group (NeurIPS 2019).
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
  /// [num_groups, num_groups] 1 (mean: 1 / number of children) at (v, u) if u is a child of v.
  const std::shared_ptr<const SparseMatrix>& children() const { return children_; }
  const Matrix& has_parent() const { return has_parent_; }  ///< [num_groups, 1]: 0 or 1
  const Matrix& has_child() const { return has_child_; }    ///< [num_groups, 1]: 0 or 1
  /// Returns, ascending and without the group itself, all transitive ancestors or descendants along
  /// the edges of the pools, or the groups that are neither.
  const std::vector<int>& members(Pool pool, int group) const {
    return pools_[static_cast<int>(pool)][group];
  }

 private:
  std::shared_ptr<const SparseMatrix> parents_, children_;
  Matrix has_parent_, has_child_;
  std::vector<std::vector<int>> pools_[kNumPools];
};

}  // namespace emplace
