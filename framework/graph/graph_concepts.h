#pragma once

// Makes Graph and Adjacency models of Boost.Graph's concepts, without a copy, so that Boost's
// algorithms accept them directly:
//
//   std::vector<int> reversed;
//   boost::topological_sort(graph, std::back_inserter(reversed));
//
// Vertex v of a Graph is op v. An edge u -> v states that op v depends on op u, through tensors or
// control inputs; there is one edge for each such pair. Vertex r of an Adjacency is row r, with an
// edge to each of the row's values. Both model VertexListGraph, IncidenceGraph and AdjacencyGraph;
// a Graph also models BidirectionalGraph. The vertex_index is the vertex itself. Slow to compile:
// only sources that call Boost should include it.
//
// If the order of ops is a part of a result, use Graph::topological_order(), whose order is
// specified. The order of Boost's sort is not specified among the topological orders.

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/transform_iterator.hpp>
#include <boost/property_map/property_map.hpp>

#include "framework/graph/graph.h"

namespace emplace {

struct GraphEdge {
  int from = -1, to = -1;
  bool operator==(const GraphEdge&) const = default;
};

namespace internal {

struct MakeOutEdge {
  int from = -1;
  GraphEdge operator()(int to) const { return {from, to}; }
};
struct MakeInEdge {
  int to = -1;
  GraphEdge operator()(int from) const { return {from, to}; }
};
using OutEdgeIterator = boost::transform_iterator<MakeOutEdge, const int*>;
using InEdgeIterator = boost::transform_iterator<MakeInEdge, const int*>;
using VertexIterator = boost::counting_iterator<int>;

// std::size_t, because transitive_closure() uses the index type for sizes as well.
struct VertexIndexMap : boost::put_get_helper<std::size_t, VertexIndexMap> {
  using category = boost::readable_property_map_tag;
  using key_type = int;
  using value_type = std::size_t;
  using reference = std::size_t;
  reference operator[](int v) const { return static_cast<std::size_t>(v); }
};

inline std::span<const int> TargetsOf(const Graph& graph, int v) {
  return graph.successors(v);
}
inline std::span<const int> TargetsOf(const Adjacency& rows, int r) {
  return rows[r];
}

struct GraphTraits {
  using vertex_descriptor = int;
  using edge_descriptor = GraphEdge;
  using edge_parallel_category = boost::disallow_parallel_edge_tag;
  using vertices_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using vertex_iterator = VertexIterator;
  using adjacency_iterator = const int*;
  using out_edge_iterator = OutEdgeIterator;
  static vertex_descriptor null_vertex() { return -1; }
};

}  // namespace internal

template <class G>
concept BoostGraph = std::same_as<G, Graph> || std::same_as<G, Adjacency>;

// Boost finds these functions through the namespace of their arguments.

inline std::size_t num_vertices(const Graph& graph) {
  return graph.num_ops();
}
inline std::size_t num_vertices(const Adjacency& rows) {
  return rows.offsets.size() - 1;
}
template <BoostGraph G>
std::pair<internal::VertexIterator, internal::VertexIterator> vertices(const G& graph) {
  return {internal::VertexIterator(0),
          internal::VertexIterator(static_cast<int>(num_vertices(graph)))};
}

template <BoostGraph G>
int source(const GraphEdge& edge, const G&) {
  return edge.from;
}
template <BoostGraph G>
int target(const GraphEdge& edge, const G&) {
  return edge.to;
}

template <BoostGraph G>
std::pair<const int*, const int*> adjacent_vertices(int v, const G& graph) {
  const std::span<const int> row = internal::TargetsOf(graph, v);
  return {row.data(), row.data() + row.size()};
}
template <BoostGraph G>
std::pair<internal::OutEdgeIterator, internal::OutEdgeIterator> out_edges(int v, const G& graph) {
  const auto [begin, end] = adjacent_vertices(v, graph);
  return {{begin, {v}}, {end, {v}}};
}
template <BoostGraph G>
std::size_t out_degree(int v, const G& graph) {
  return internal::TargetsOf(graph, v).size();
}

inline std::pair<internal::InEdgeIterator, internal::InEdgeIterator> in_edges(int v,
                                                                              const Graph& graph) {
  const std::span<const int> row = graph.predecessors(v);
  return {{row.data(), {v}}, {row.data() + row.size(), {v}}};
}
inline std::size_t in_degree(int v, const Graph& graph) {
  return graph.predecessors(v).size();
}
inline std::size_t degree(int v, const Graph& graph) {
  return in_degree(v, graph) + out_degree(v, graph);
}

template <BoostGraph G>
internal::VertexIndexMap get(boost::vertex_index_t, const G&) {
  return {};
}
template <BoostGraph G>
std::size_t get(boost::vertex_index_t, const G&, int v) {
  return static_cast<std::size_t>(v);
}

}  // namespace emplace

namespace boost {

template <>
struct graph_traits<emplace::Graph> : emplace::internal::GraphTraits {
  using directed_category = bidirectional_tag;
  struct traversal_category : virtual vertex_list_graph_tag,
                              virtual adjacency_graph_tag,
                              virtual bidirectional_graph_tag {};
  using in_edge_iterator = emplace::internal::InEdgeIterator;
};

template <>
struct graph_traits<emplace::Adjacency> : emplace::internal::GraphTraits {
  using directed_category = directed_tag;
  struct traversal_category : virtual vertex_list_graph_tag,
                              virtual adjacency_graph_tag,
                              virtual incidence_graph_tag {};
};

template <emplace::BoostGraph G>
struct property_map<G, vertex_index_t> {
  using type = emplace::internal::VertexIndexMap;
  using const_type = type;
};

}  // namespace boost
