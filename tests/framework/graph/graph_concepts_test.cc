#include "framework/graph/graph_concepts.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <boost/concept/assert.hpp>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/graph/transitive_closure.hpp>
#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "tests/framework/graph/random_graph.h"

namespace emplace {
namespace {

using testing::RandomGraph;

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<Graph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<Graph>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<Graph>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<Graph>));
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<Adjacency>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<Adjacency>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<Adjacency>));

// a(0) -> b(1) -> d(3), a -> c(2) -> d through tensors; a -> d by control.
Graph MakeDiamond() {
  std::vector<Tensor> tensors(3);
  std::vector<Op> ops(4);
  ops[0].outputs = {0};
  ops[1].inputs = ops[2].inputs = {0};
  ops[1].outputs = {1};
  ops[2].outputs = {2};
  ops[3].inputs = {1, 2, 1};
  ops[3].control_inputs = {0};
  for (int v = 0; v < 4; ++v) ops[v].name = std::string(1, static_cast<char>('a' + v));
  return Graph("diamond", tensors, ops);
}

TEST_CASE("edges of a diamond from both ends, data and control alike, each once") {
  const Graph graph = MakeDiamond();
  CHECK(num_vertices(graph) == 4);
  const auto [begin, end] = out_edges(0, graph);
  CHECK(std::vector<GraphEdge>(begin, end) == std::vector<GraphEdge>{{0, 1}, {0, 2}, {0, 3}});
  const auto [in_begin, in_end] = in_edges(3, graph);
  CHECK(std::vector<GraphEdge>(in_begin, in_end) == std::vector<GraphEdge>{{0, 3}, {1, 3}, {2, 3}});
  CHECK(out_degree(0, graph) == 3);
  CHECK(in_degree(3, graph) == 3);
  CHECK(degree(1, graph) == 2);

  std::vector<int> depth(4, 0);
  const auto record = boost::record_distances(depth.data(), boost::on_tree_edge());
  boost::breadth_first_search(graph, 0, boost::visitor(boost::make_bfs_visitor(record)));
  CHECK(depth == std::vector<int>{0, 1, 1, 1});
}

TEST_CASE("rows of integers as a graph: two cycles joined by an edge are two components") {
  // 0 -> 1 -> 0, 1 -> 2, 2 -> 3 -> 2
  const Adjacency rows{.offsets = {0, 1, 3, 4, 5}, .values = {1, 0, 2, 3, 2}};
  std::vector<int> component(4);
  const auto index = get(boost::vertex_index, rows);
  const int count =
      boost::strong_components(rows, boost::make_iterator_property_map(component.begin(), index));
  CHECK(count == 2);
  CHECK(component[0] == component[1]);
  CHECK(component[2] == component[3]);
  CHECK(component[0] != component[2]);
  CHECK(num_vertices(Adjacency{}) == 0);
}

TEST_CASE("random graphs: Boost's order, degrees and reachability agree with ours") {
  for (int seed = 0; seed < 100 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 40));
    const int n = graph.num_ops();
    std::vector<int> order;
    boost::topological_sort(graph, std::back_inserter(order));
    REQUIRE(static_cast<int>(order.size()) == n);
    std::vector<int> position(n);
    for (int i = 0; i < n; ++i) position[order[i]] = n - i;

    std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
    const auto ours = graph.topological_order();
    for (int i = n - 1; i >= 0; --i) {
      const int v = ours[i];
      for (const int next : graph.successors(v)) {
        CHECK(position[v] < position[next]);
        reaches[v][next] = true;
        for (int w = 0; w < n; ++w) reaches[v][w] = reaches[v][w] || reaches[next][w];
      }
    }
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> closure;
    boost::transitive_closure(graph, closure);
    for (int v = 0; v < n; ++v) {
      for (int w = 0; w < n; ++w) {
        CHECK(boost::edge(v, w, closure).second == reaches[v][w]);
      }
    }
  }
}

}  // namespace
}  // namespace emplace
