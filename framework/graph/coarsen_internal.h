#pragma once

// What the passes of coarsen.h share.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/graph/grouping.h"

namespace emplace::internal {

/// Disjoint sets of 0 .. n-1; the least element stands for its set, on which ties between merged
/// groups are decided. (In Boost's disjoint_sets the element of highest rank does.)
class UnionFind {
 public:
  explicit UnionFind(int n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Union(int a, int b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

/// The grouping whose groups are the unions of `grouping`'s groups under `sets`.
/// @param sets  over groups
Grouping Merged(const Grouping& grouping, UnionFind& sets);

/// Sum of the weights of each group's ops. @return [num_groups]
std::vector<double> GroupWeights(const Grouping& grouping, const std::vector<double>& weight);

/// Bytes between groups, as Problem::neighbors counts them: each tensor once per group that reads
/// it, both directions together, a control edge 0 bytes. Row g is edges[offsets[g], offsets[g +
/// 1]), neighbours ascending. Sums stop at the largest int64.
struct GroupEdges {
  struct Edge {
    int neighbor;
    std::int64_t bytes;  ///< [B]
  };
  std::vector<int> offsets;
  std::vector<Edge> edges;

  std::span<const Edge> operator[](int group) const {
    return {edges.data() + offsets[group], edges.data() + offsets[group + 1]};
  }
};
GroupEdges MakeGroupEdges(const Graph& graph, const Grouping& grouping);

/// Groups that depend on a group through tensors or control inputs, ascending, itself left out.
Adjacency GroupSuccessors(const Graph& graph, const Grouping& grouping);

/// The op named by the attribute "forward_op", or -1 without the attribute.
/// @throws InputError naming graph and op if the attribute is no text or names no op
int ForwardOp(const Graph& graph, int op);

/// The first `depth` scopes of an op name: "a/b/c" has the scopes a and b. The separator is '/' if
/// the name has one, else '.'. Empty for a name without scopes.
std::string_view ScopeOf(std::string_view name, int depth);

}  // namespace emplace::internal
