#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/coarsen_internal.h"

namespace emplace {
namespace {

// Runs one round. Every group takes the unmatched neighbour with which it shares the most bytes.
// Groups with few neighbours come first, because they have the least choice. Stops at `num_groups`.
Grouping MatchOnce(const Graph& graph,
                   const Grouping& grouping,
                   const std::vector<double>& weight,
                   double limit,
                   int num_groups) {
  const internal::GroupEdges edges = internal::MakeGroupEdges(graph, grouping);
  const std::vector<double> group_weight = internal::GroupWeights(grouping, weight);
  const int count = grouping.num_groups();
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(), [&](int a, int b) { return edges[a].size() < edges[b].size(); });

  internal::UnionFind sets(count);
  std::vector<bool> matched(count, false);
  int left = count;
  for (int group : order) {
    if (left <= num_groups) break;
    if (matched[group]) continue;
    int best = -1;
    std::int64_t most = -1;
    for (const auto& [neighbor, bytes] : edges[group]) {
      if (matched[neighbor] || group_weight[group] + group_weight[neighbor] > limit) continue;
      if (bytes > most) {
        most = bytes;
        best = neighbor;
      }
    }
    if (best < 0) continue;
    matched[group] = matched[best] = true;
    sets.Union(group, best);
    --left;
  }
  return Merged(grouping, sets);
}

}  // namespace

Grouping MergeHeavyEdges(const Graph& graph,
                         const Grouping& grouping,
                         const std::vector<double>& weight,
                         int num_groups) {
  if (num_groups < 1) {
    throw InputError(fmt::format("number of groups: got {}; expected >= 1", num_groups));
  }
  const double limit = 1.5 * std::accumulate(weight.begin(), weight.end(), 0.0) / num_groups;
  Grouping current = grouping;
  while (current.num_groups() > num_groups) {
    Grouping next = MatchOnce(graph, current, weight, limit, num_groups);
    const int merged = current.num_groups() - next.num_groups();
    const bool stalled = merged < 0.01 * current.num_groups();
    current = std::move(next);
    if (stalled) break;
  }
  return current;
}

}  // namespace emplace
