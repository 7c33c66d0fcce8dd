#pragma once

// Merges the thousands of ops of a placed graph into the nodes and edges of a drawing, and names
// the nodes.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/coarsen.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Merges groups until at most `num_nodes` remain. The cheapest group joins the neighbour on its
/// device with which it shares the most bytes, or, without a neighbour there, such a neighbour on
/// any device. Expensive groups thus stay separate, and only cheap groups join ops of another
/// device. If too many groups remain, those without neighbours are joined by device.
/// @param start         groups that are never split; each on one device
/// @param device_of_op  [num_ops]
/// @param weight        [num_ops] time of each op, >= 0, any unit
Grouping GroupForDrawing(const Graph& graph,
                         const Grouping& start,
                         std::span<const DeviceIndex> device_of_op,
                         const std::vector<double>& weight,
                         int num_nodes);

/// Returns the name of each op. A gradient op that names its forward op (ColocateGradients()) gets
/// the name of that op, so that a layer and its gradients have one scope.
/// @return [num_ops], pointing into the graph
std::vector<std::string_view> ForwardNames(const Graph& graph);

/// Returns the innermost name scope with more than half of the ops' weight
/// ("InceptionV3/Mixed_7a"), the name of a single op, or "" if the ops have no common scope.
/// @param names  [num_ops]
/// @param ops    not empty
std::string DrawnTitle(const std::vector<std::string_view>& names,
                       std::span<const int> ops,
                       const std::vector<double>& weight);

/// The tensors between two nodes.
struct DrawnEdge {
  int from = 0, to = 0;    ///< `from` is the earlier node
  std::int64_t bytes = 0;  ///< from -> to, each tensor once [B]
  std::int64_t back = 0;   ///< to -> from, for example gradients [B]
  int tensors = 0;         ///< in both directions, without control edges
  bool operator==(const DrawnEdge&) const = default;
};

/// Selects the edges to show: the heaviest edges that have `share` of the sum of sqrt(bytes) over
/// all edges, and the heaviest further edges that keep connected nodes connected. With bytes
/// instead of their square root, the parameters of a layer that is used in every time step would
/// hide the activations.
/// @return in the order of `edges`
std::vector<DrawnEdge> HeaviestEdges(const std::vector<DrawnEdge>& edges,
                                     int num_nodes,
                                     double share);

/// Returns all edges between nodes, sorted. Nodes are ordered by their first op with forward work,
/// in topological order; an edge goes from the earlier to the later node, so there are no cycles.
std::vector<DrawnEdge> DrawnEdges(const Graph& graph, const Grouping& nodes);

}  // namespace emplace
