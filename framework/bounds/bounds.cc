#include "framework/bounds/bounds.h"

#include <algorithm>
#include <vector>

#include "framework/bounds/work_bound.h"

namespace emplace {
namespace {

Nanos CriticalPath(const Problem& problem) {
  const Graph& graph = problem.graph();
  std::vector<Nanos> finish(graph.num_ops(), 0);
  Nanos longest = 0;
  for (int v : graph.topological_order()) {
    Nanos best = kMaxNanos, ready = 0;
    for (int d = 0; d < problem.num_devices(); ++d) best = std::min(best, problem.costs().at(v, d));
    for (int u : graph.predecessors(v)) ready = std::max(ready, finish[u]);
    finish[v] = ready + best;
    longest = std::max(longest, finish[v]);
  }
  return longest;
}

}  // namespace

Bounds ComputeBounds(const Problem& problem) {
  return {CriticalPath(problem), BoundWork(problem.cluster(), problem.costs().time).time};
}

}  // namespace emplace
