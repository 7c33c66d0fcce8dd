#pragma once

// The structure that message passing follows: which groups feed which, directly and transitively.
//
// A group u is a parent of v if an op of one depends on an op of the other (data or control) and u
// comes before v in Problem::group_order(). That order decides because groups of a training graph
// depend on each other both ways: one holds ops with their gradients, or parameters with their
// updates. Followed as they are, nearly all groups of such a graph are ancestors and descendants of
// one another and the pools are all alike; in order they say what they say of a graph without
// cycles, for which nothing changes [ours].
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
  /// All transitive ancestors or descendants, or the groups that are neither; ascending, without
  /// the group itself.
  const std::vector<int>& members(Pool pool, int group) const {
    return pools_[static_cast<int>(pool)][group];
  }

 private:
  std::shared_ptr<const SparseMatrix> parents_, children_;
  Matrix has_parent_, has_child_;
  std::vector<std::vector<int>> pools_[kNumPools];
};

}  // namespace emplace
