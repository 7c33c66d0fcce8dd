#include "framework/graph/dependency_graph.h"

#include <utility>
#include <vector>

namespace emplace {

DependencyGraph MakeDependencyGraph(const Graph& graph) {
  std::vector<std::pair<unsigned, unsigned>> edges;
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (int next : graph.successors(v)) edges.emplace_back(v, next);
  }
  return DependencyGraph(
      boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), graph.num_ops());
}

}  // namespace emplace
