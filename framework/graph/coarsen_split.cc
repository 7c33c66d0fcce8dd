#include <algorithm>
#include <map>
#include <vector>

#include "framework/base/error.h"
#include "framework/graph/coarsen.h"

namespace emplace {

Grouping SplitAcyclic(const Graph& graph, const Grouping& grouping) {
  EMPLACE_CHECK(grouping.num_ops() == graph.num_ops());
  std::vector<int> place(grouping.num_groups(), -1), round(graph.num_ops(), 0);
  int next_place = 0;
  for (int v : graph.topological_order()) {
    int& own = place[grouping.group_of(v)];
    if (own < 0) own = next_place++;
    for (int u : graph.predecessors(v)) {
      round[v] = std::max(round[v], round[u] + (own < place[grouping.group_of(u)]));
    }
  }
  std::map<std::pair<int, int>, int> number;
  std::vector<int> label;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const auto next = static_cast<int>(number.size());
    label.push_back(number.try_emplace({grouping.group_of(v), round[v]}, next).first->second);
  }
  return Grouping(label);
}

ContractedGraph ContractGroups(const Graph& graph, const Grouping& grouping) {
  const Grouping parts = SplitAcyclic(graph, grouping);
  std::vector<int> group_of_part;
  for (int p = 0; p < parts.num_groups(); ++p) {
    group_of_part.push_back(grouping.group_of(parts.members(p)[0]));
  }
  Grouping groups(group_of_part);
  const Graph contracted = Contract(graph, parts);
  std::vector<Op> ops(contracted.ops().begin(), contracted.ops().end());
  for (int g = 0; g < groups.num_groups(); ++g) {
    const auto members = groups.members(g);
    if (members.size() < 2) continue;
    for (int p : members) ops[p].colocate = "group of " + ops[members[0]].name;
  }
  Graph labelled(contracted.name(),
                 std::vector<Tensor>(contracted.tensors().begin(), contracted.tensors().end()),
                 std::move(ops),
                 contracted.source());
  return {std::move(labelled), parts, std::move(groups)};
}

}  // namespace emplace
