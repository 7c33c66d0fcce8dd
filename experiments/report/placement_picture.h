#pragma once

// The data of the drawn graph.

#include <string>
#include <vector>

#include "framework/base/json.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

/// How finely a graph is drawn.
struct DrawingLevel {
  std::string name;  ///< "60 nodes", "all 112 groups"
  Grouping nodes;
};

/// Levels for a problem's groups, the coarsest first: about 60 nodes, about 200, and all groups
/// where they are no more than can be laid out.
/// @param weight  [num_ops] time of each op [ns]
std::vector<DrawingLevel> MakeDrawingLevels(const Problem& problem,
                                            std::span<const DeviceIndex> device_of_op,
                                            const std::vector<double>& weight);

/// The device of each node: that on which its ops take most of their time.
/// @return [num_nodes]
std::vector<int> DevicesOfNodes(const Graph& graph,
                                const Grouping& nodes,
                                std::span<const DeviceIndex> device_of_op,
                                int num_devices,
                                const std::vector<double>& weight);

/// One level laid out; lengths in points. null if `dot` takes too long.
///
///   {"name", "width", "height", "node_of_op": [num_ops],
///    "nodes": [{"title", "label", "x", "y", "w", "h", "device", "shares": [num_devices] of its
///      time (only where its ops are on several), "ops", "time_ns", "resident_bytes", "top": [ops
///      that take longest]}],
///    "edges": [{"from", "to", "bytes", "back", "tensors", "path": [x, y, ...]}],
///    "light_edges": how many are left out, "light_share": their share of the bytes}
///
/// @throws RunError as LayOutGraph() does
Json LevelJson(const Graph& graph,
               const DrawingLevel& level,
               std::span<const DeviceIndex> device_of_op,
               int num_devices,
               const std::vector<double>& weight);

/// {"name", "ops", "names": [shared prefix with the name before, rest, ...], "kinds": [...],
/// "kind": [num_ops], "phase": "0012..."}
Json GraphJson(const Graph& graph);

/// Each text as the number of leading (ASCII) characters that it shares with the one before, and
/// the rest.
Json FrontCoded(const std::vector<std::string>& texts);

}  // namespace emplace
