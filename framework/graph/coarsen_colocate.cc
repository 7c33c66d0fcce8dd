#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/coarsen_internal.h"

namespace emplace {

using internal::UnionFind;

Grouping ColocateByLabel(const Graph& graph, const Grouping& grouping) {
  UnionFind sets(grouping.num_groups());
  std::unordered_map<std::string_view, int> group_of_label;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const Op& op = graph.op(v);
    if (op.colocate.empty()) continue;
    const int group = grouping.group_of(v);
    sets.Union(group, group_of_label.try_emplace(op.colocate, group).first->second);
  }
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.alias_of < 0) continue;
    const int owner = graph.tensor(tensor.alias_of).producer;
    if (tensor.producer >= 0 && owner >= 0) {
      sets.Union(grouping.group_of(tensor.producer), grouping.group_of(owner));
    }
  }
  return Merged(grouping, sets);
}

Grouping ColocateGradients(const Graph& graph, const Grouping& grouping) {
  UnionFind sets(grouping.num_groups());
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int forward = internal::ForwardOp(graph, v);
    if (forward >= 0) sets.Union(grouping.group_of(v), grouping.group_of(forward));
  }
  return Merged(grouping, sets);
}

Grouping ColocateParameters(const Graph& graph, const Grouping& grouping) {
  UnionFind sets(grouping.num_groups());
  std::vector<char> is_read(graph.num_ops(), 0);
  for (const int reader : graph.topological_order()) {
    const Op& reading = graph.op(reader);
    for (const int tensor : reading.inputs) {
      const int root = graph.alias_root(tensor);
      const int op = graph.tensor(root).producer;
      if (op < 0 || !graph.op(op).IsStorage() || is_read[op]) continue;
      const auto is_alias = [&](int output) { return graph.alias_root(output) == root; };
      if (std::ranges::any_of(reading.outputs, is_alias)) continue;
      is_read[op] = 1;
      sets.Union(grouping.group_of(op), grouping.group_of(reader));
    }
  }
  return Merged(grouping, sets);
}

Grouping GroupByScope(const Graph& graph, const Grouping& grouping, int depth) {
  if (depth < 1) throw InputError(fmt::format("depth of scopes: got {}; expected >= 1", depth));
  UnionFind sets(grouping.num_groups());
  std::unordered_map<std::string_view, int> group_of_scope;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int forward = internal::ForwardOp(graph, v);
    const std::string_view scope =
        internal::ScopeOf(graph.op(forward >= 0 ? forward : v).name, depth);
    if (scope.empty()) continue;
    const int group = grouping.group_of(v);
    sets.Union(group, group_of_scope.try_emplace(scope, group).first->second);
  }
  return Merged(grouping, sets);
}

}  // namespace emplace
