#include "agents/placeto/placeto_graph.h"

#include <set>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/transitive_closure.hpp>

namespace emplace {
namespace {

using GroupGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

using Edges = std::set<std::pair<int, int>>;

/// Returns the pairs (parent, child), ascending.
Edges DirectEdges(const Problem& problem) {
  Edges edges;
  for (int op = 0; op < problem.num_ops(); ++op) {
    const int reader = problem.grouping().group_of(op);
    for (int predecessor : problem.graph().predecessors(op)) {
      const int maker = problem.grouping().group_of(predecessor);
      if (maker != reader) edges.emplace(maker, reader);
    }
  }
  return edges;
}

/// Returns the same edges, each from the earlier to the later group.
Edges InOrder(const Problem& problem, const Edges& edges) {
  std::vector<int> position(problem.num_groups());
  for (int i = 0; i < problem.num_groups(); ++i) position[problem.group_order()[i]] = i;
  Edges ordered;
  for (const auto& [a, b] : edges) {
    position[a] < position[b] ? ordered.emplace(a, b) : ordered.emplace(b, a);
  }
  return ordered;
}

}  // namespace

PlacetoGraph::PlacetoGraph(const Problem& problem, bool mean) {
  const int n = problem.num_groups();
  const Edges edges = DirectEdges(problem), ordered = InOrder(problem, edges);
  Matrix num_parents = Matrix::Zero(n, 1), num_children = Matrix::Zero(n, 1);
  for (const auto& [parent, child] : edges) {
    num_parents(child, 0) += 1;
    num_children(parent, 0) += 1;
  }
  has_parent_ = num_parents.cwiseMin(1);
  has_child_ = num_children.cwiseMin(1);
  std::vector<Eigen::Triplet<float>> from_parents, from_children;
  for (const auto& [parent, child] : edges) {
    from_parents.emplace_back(child, parent, mean ? 1 / num_parents(child, 0) : 1.0F);
    from_children.emplace_back(parent, child, mean ? 1 / num_children(parent, 0) : 1.0F);
  }
  const auto make = [n](const std::vector<Eigen::Triplet<float>>& entries) {
    auto matrix = std::make_shared<SparseMatrix>(n, n);
    matrix->setFromTriplets(entries.begin(), entries.end());
    return matrix;
  };
  parents_ = make(from_parents);
  children_ = make(from_children);

  const GroupGraph graph(ordered.begin(), ordered.end(), n);
  GroupGraph closure;
  boost::transitive_closure(graph, closure);
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
  for (const auto edge : boost::make_iterator_range(boost::edges(closure))) {
    reaches[boost::source(edge, closure)][boost::target(edge, closure)] = true;
  }
  for (auto& pool : pools_) pool.resize(n);
  for (int v = 0; v < n; ++v) {
    const auto add = [&](Pool pool, int u) { pools_[static_cast<int>(pool)][v].push_back(u); };
    for (int u = 0; u < n; ++u) {
      if (u == v) continue;
      if (reaches[u][v]) add(Pool::kAncestors, u);
      if (reaches[v][u]) add(Pool::kDescendants, u);
      if (!reaches[u][v] && !reaches[v][u]) add(Pool::kParallel, u);
    }
  }
}

}  // namespace emplace
