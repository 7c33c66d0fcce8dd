#pragma once

// How a placed graph of thousands of ops is drawn: which ops are one node, what it is called, and
// which edges are shown.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/coarsen.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Merges groups until at most `num_nodes` remain. The cheapest group goes to the neighbour on its
/// device with which it shares the most bytes, or, if it has none there, to such a neighbour on any
/// device. So what takes long stays apart, and only cheap groups join ops of another device. Groups
/// without neighbours are joined by device, if still too many remain.
/// @param start         groups that are never split; each on one device
/// @param device_of_op  [num_ops]
/// @param weight        [num_ops] time of each op, >= 0, any unit
Grouping GroupForDrawing(const Graph& graph,
                         const Grouping& start,
                         std::span<const DeviceIndex> device_of_op,
                         const std::vector<double>& weight,
                         int num_nodes);

/// The name of each op; for a gradient op that names its forward op (ColocateGradients()) the name
/// of that, so that a layer and its gradients have one scope.
/// @return [num_ops], pointing into the graph
std::vector<std::string_view> ForwardNames(const Graph& graph);

/// The innermost name scope that holds more than half of the ops' weight ("InceptionV3/Mixed_7a"),
/// the name of a single op, or "" where they have no scope in common.
/// @param names  [num_ops]   @param ops  not empty
std::string DrawnTitle(const std::vector<std::string_view>& names,
                       std::span<const int> ops,
                       const std::vector<double>& weight);

/// Tensors that go from one node to another.
struct DrawnEdge {
  int from = 0, to = 0;    ///< `from` is the node that comes first
  std::int64_t bytes = 0;  ///< from -> to, each tensor once [B]
  std::int64_t back = 0;   ///< to -> from, as gradients do [B]
  int tensors = 0;         ///< in both directions, control edges left out
  bool operator==(const DrawnEdge&) const = default;
};

/// The edges to show: the heaviest, as many as have `share` of the sum of sqrt(bytes) over all
/// edges, and the heaviest of those without which connected nodes would not be connected in the
/// drawing. The square root is taken because otherwise the parameters of a layer that is used in
/// every time step would hide the activations.
/// @return in the order of `edges`
std::vector<DrawnEdge> HeaviestEdges(const std::vector<DrawnEdge>& edges,
                                     int num_nodes,
                                     double share);

/// All edges between nodes, sorted. Nodes are ordered by their first op that does forward work, in
/// topological order; an edge goes from the earlier to the later node, so that there are no cycles.
std::vector<DrawnEdge> DrawnEdges(const Graph& graph, const Grouping& nodes);

}  // namespace emplace
