#include "framework/graph/cycle.h"

#include <algorithm>

#include <boost/graph/depth_first_search.hpp>
#include <fmt/format.h>

#include "framework/graph/graph_concepts.h"

namespace emplace::internal {
namespace {

// Stores the tree of the search and the first edge to an ancestor.
struct CycleVisitor : boost::default_dfs_visitor {
  std::vector<int>* parent;
  GraphEdge* back;

  void tree_edge(const GraphEdge& edge, const Adjacency&) const { (*parent)[edge.to] = edge.from; }
  void back_edge(const GraphEdge& edge, const Adjacency&) const {
    if (back->from < 0) *back = edge;
  }
};

}  // namespace

std::vector<int> FindCycle(const Adjacency& successors) {
  std::vector<int> parent(num_vertices(successors), -1);
  GraphEdge back;
  CycleVisitor visitor;
  visitor.parent = &parent;
  visitor.back = &back;
  boost::depth_first_search(successors, boost::visitor(visitor));
  std::vector<int> cycle;
  if (back.from < 0) return cycle;
  for (int v = back.from; v != back.to; v = parent[v]) cycle.push_back(v);
  cycle.push_back(back.to);
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()) + 1, cycle.end());
  return cycle;
}

std::string DescribeCycle(const std::vector<int>& cycle,
                          const std::function<std::string_view(int)>& name_of,
                          std::string_view things) {
  constexpr size_t kNamed = 5;
  std::string text;
  for (size_t i = 0; i < std::min(cycle.size(), kNamed); ++i) {
    text += fmt::format("\"{}\" -> ", name_of(cycle[i]));
  }
  if (cycle.size() > kNamed) text += fmt::format("... ({} {}) -> ", cycle.size(), things);
  return text + fmt::format("\"{}\"", name_of(cycle[0]));
}

}  // namespace emplace::internal
