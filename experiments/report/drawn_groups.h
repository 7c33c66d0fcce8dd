#pragma once

// Which ops of a placed graph are drawn as one node.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/coarsen.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Merges groups until at most `num_nodes` remain: the cheapest with that neighbour on its device
/// with which it shares the most bytes, or, having none there, with that of any device. So what
/// takes long stays apart, and only trifles join ops of another device. Where many groups have no
/// neighbours at all, those of a device are joined at last.
/// @param start         groups that are never split; each on one device
/// @param device_of_op  [num_ops]
/// @param weight        [num_ops] time of each op, >= 0, any unit
Grouping GroupForDrawing(const Graph& graph,
                         const Grouping& start,
                         std::span<const DeviceIndex> device_of_op,
                         const std::vector<double>& weight,
                         int num_nodes);

/// The name of each op, of one that names its forward op (see ColocateGradients) that op's, so that
/// a layer and its gradients have one scope. @return [num_ops] pointing into the graph
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

/// The heaviest edges, as many as hold `share` of the sum of the edges' sqrt(bytes), and the
/// heaviest of those without which nodes that belong together would lie apart. The root, because
/// the parameters of a layer that is used in every time step would hide the activations.
/// @return in the order of `edges`
std::vector<DrawnEdge> HeaviestEdges(const std::vector<DrawnEdge>& edges,
                                     int num_nodes,
                                     double share);

/// All edges between nodes, sorted. A node comes before another if its first op that does forward
/// work does, in topological order; so the edges have no cycles.
std::vector<DrawnEdge> DrawnEdges(const Graph& graph, const Grouping& nodes);

}  // namespace emplace
