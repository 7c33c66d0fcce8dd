#include "framework/schedule/issue_order.h"

#include <queue>

#include "framework/base/error.h"

namespace emplace {

std::vector<int> IssueOrder(const Graph& graph, std::span<const std::int64_t> priority) {
  const auto all = graph.topological_order();
  if (priority.empty()) return {all.begin(), all.end()};
  EMPLACE_CHECK(static_cast<int>(priority.size()) == graph.num_ops());

  const auto later = [&](int a, int b) {
    return priority[a] != priority[b] ? priority[a] < priority[b] : a > b;
  };
  std::priority_queue<int, std::vector<int>, decltype(later)> available(later);
  std::vector<int> missing(graph.num_ops()), order;
  order.reserve(graph.num_ops());
  for (int v = 0; v < graph.num_ops(); ++v) {
    missing[v] = static_cast<int>(graph.predecessors(v).size());
    if (missing[v] == 0) available.push(v);
  }
  while (!available.empty()) {
    const int v = available.top();
    available.pop();
    order.push_back(v);
    for (int next : graph.successors(v)) {
      if (--missing[next] == 0) available.push(next);
    }
  }
  return order;
}

}  // namespace emplace
