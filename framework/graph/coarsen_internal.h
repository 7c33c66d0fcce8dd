#pragma once

// Shared functions of the passes of coarsen.h.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/graph/grouping.h"

namespace emplace::internal {

/// Disjoint sets of 0 .. n-1. The least element represents its set, because ties between merged
/// groups depend on it. (Boost's disjoint_sets uses the element of highest rank.)
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

/// Returns the grouping whose groups are the unions of `grouping`'s groups under `sets`.
/// @param sets  over groups
Grouping Merged(const Grouping& grouping, UnionFind& sets);

/// Returns the sum of the weights of each group's ops. [num_groups]
std::vector<double> GroupWeights(const Grouping& grouping, const std::vector<double>& weight);

/// Calls visit(tensor, from, to) for each tensor that crosses to another group, once for each group
/// that reads it, and visit(nullptr, from, to) for each control edge between groups.
template <class Visit>
void VisitCrossings(const Graph& graph, const Grouping& grouping, const Visit& visit) {
  std::vector<int> seen_for(grouping.num_groups(), -1);  // the tensor last seen in a group
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.producer < 0) continue;
    const int from = grouping.group_of(tensor.producer);
    for (const int reader : graph.readers(t)) {
      const int to = grouping.group_of(reader);
      if (to != from && std::exchange(seen_for[to], t) != t) visit(&tensor, from, to);
    }
  }
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (const int next : graph.control_readers(v)) {
      const int from = grouping.group_of(v), to = grouping.group_of(next);
      if (from != to) visit(nullptr, from, to);
    }
  }
}

/// Bytes between groups, counted as in Problem::neighbors: each tensor once for each group that
/// reads it, both directions together, a control edge as 0 bytes. Row g is edges[offsets[g],
/// offsets[g + 1]) with neighbours in ascending order. Sums are limited to the largest int64.
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

/// Returns the other groups that depend on each group by tensors or control inputs, ascending.
Adjacency GroupSuccessors(const Graph& graph, const Grouping& grouping);

/// Returns the text of an attribute; nullopt if the op has no such attribute, or none of that type.
std::optional<std::string> TextAttribute(const Op& op, const std::string& key);

/// Returns the op named by the attribute "forward_op", or -1 without the attribute.
/// @throws InputError naming graph and op if the attribute is not a text or does not name an op
int ForwardOp(const Graph& graph, int op);

/// Returns the first `depth` scopes of an op name: "a/b/c" has the scopes a and b. The separator is
/// '/' if the name contains one, else '.'. Empty for a name without scopes.
std::string_view ScopeOf(std::string_view name, int depth);

}  // namespace emplace::internal
