#pragma once

// Positions of nodes and edges in a drawing, computed by Graphviz' program `dot`.

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
  double weight = 1;  ///< preference for a short and straight edge, >= 1
};

/// A drawing. Coordinates are in points (1/72 in), y grows downwards.
struct GraphLayout {
  double width = 0, height = 0;
  std::vector<std::pair<double, double>> nodes;               ///< centres
  std::vector<std::vector<std::pair<double, double>>> edges;  ///< B-spline control points, 3 k + 1
};

/// Runs `dot`, which arranges nodes in layers. The same input gives the same layout.
/// @param left_to_right  layers go from left to right instead of from top to bottom
/// @param seconds  time limit of `dot` [s]
/// @return none if `dot` exceeds the limit
/// @throws RunError if `dot` is not installed (naming the package) or fails (with its message)
std::optional<GraphLayout> LayOutGraph(const std::vector<LayoutNode>& nodes,
                                       const std::vector<LayoutEdge>& edges,
                                       bool left_to_right,
                                       double seconds);

/// Parses the output of `dot -Tplain` for nodes n0, n1, ... and edges in any order. Public for its
/// test.
/// @throws RunError for text that `dot` would not write
GraphLayout ParsePlainLayout(const std::string& plain,
                             std::size_t num_nodes,
                             const std::vector<LayoutEdge>& edges);

}  // namespace emplace
