#pragma once

// Where the nodes and edges of a drawing go. Graphviz' program `dot` decides it.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emplace {

struct LayoutNode {
  double width = 0, height = 0;  ///< [in]
};

struct LayoutEdge {
  int from = 0, to = 0;
  double weight = 1;  ///< how much the edge wants to be short and straight, >= 1
};

/// A drawing. Coordinates are in points (1/72 in), y grows downwards.
struct GraphLayout {
  double width = 0, height = 0;
  std::vector<std::pair<double, double>> nodes;               ///< centres
  std::vector<std::vector<std::pair<double, double>>> edges;  ///< B-spline control points, 3 k + 1
};

/// Runs `dot`, which puts nodes into layers. The same input gives the same layout.
/// @param left_to_right  layers go from left to right instead of from top to bottom
/// @param seconds  that `dot` may take [s]
/// @return nothing if it takes longer
/// @throws RunError if `dot` is not installed (with the package) or fails (with what it says)
std::optional<GraphLayout> LayOutGraph(const std::vector<LayoutNode>& nodes,
                                       const std::vector<LayoutEdge>& edges,
                                       bool left_to_right,
                                       double seconds);

/// Reads what `dot -Tplain` writes about nodes n0, n1, ... and edges in any order. Here for its
/// test.
/// @throws RunError for text that `dot` would not have written
GraphLayout ParsePlainLayout(const std::string& plain,
                             std::size_t num_nodes,
                             const std::vector<LayoutEdge>& edges);

}  // namespace emplace
