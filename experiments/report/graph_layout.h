#pragma once

// Where nodes and edges of a drawing go: Graphviz' `dot`, run as a program of its own.

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

/// Coordinates in points (1/72 in), y downwards.
struct GraphLayout {
  double width = 0, height = 0;
  std::vector<std::pair<double, double>> nodes;               ///< centres
  std::vector<std::vector<std::pair<double, double>>> edges;  ///< B-spline control points, 3 k + 1
};

/// Layers from top to bottom or from left to right. The same input gives the same layout.
/// @param seconds  `dot` is given up after so long; then nothing is returned [s]
/// @throws RunError if `dot` is not installed (with the package) or fails (with what it says)
std::optional<GraphLayout> LayOutGraph(const std::vector<LayoutNode>& nodes,
                                       const std::vector<LayoutEdge>& edges,
                                       bool left_to_right,
                                       double seconds);

/// What `dot -Tplain` says about nodes n0, n1, ... and edges in any order.
/// @throws RunError for text that it would not have written
GraphLayout ParsePlainLayout(const std::string& plain,
                             std::size_t num_nodes,
                             const std::vector<LayoutEdge>& edges);

}  // namespace emplace
