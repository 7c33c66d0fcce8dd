#pragma once

// The op dependencies as a Boost.Graph type, so that its algorithms apply.

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "framework/graph/graph.h"

namespace emplace {

/// Vertex v is op v; an edge u -> v says that v depends on u (data or control), once.
using DependencyGraph = boost::compressed_sparse_row_graph<boost::bidirectionalS,
                                                           boost::no_property,
                                                           boost::no_property,
                                                           boost::no_property,
                                                           unsigned,
                                                           unsigned>;

DependencyGraph MakeDependencyGraph(const Graph& graph);

}  // namespace emplace
