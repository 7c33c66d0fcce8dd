#pragma once

// The drawn graph of a report as data for page/placement.js.

#include <string>
#include <vector>

#include "framework/base/json.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

/// A level of detail of a drawing.
struct DrawingLevel {
  std::string name;  ///< "60 nodes", "all 112 groups"
  Grouping nodes;
};

/// Returns the levels for a problem's groups, the coarsest first: about 12, 25, 60 and 200 nodes,
/// and all groups if `dot` can lay out that many. The page shows the finest level that is readable
/// in its window.
/// @param weight  [num_ops] time of each op [ns]
std::vector<DrawingLevel> MakeDrawingLevels(const Problem& problem,
                                            std::span<const DeviceIndex> device_of_op,
                                            const std::vector<double>& weight);

/// Returns the device of each node: the one on which its ops take most of their time.
/// @return [num_nodes]
std::vector<int> DevicesOfNodes(const Graph& graph,
                                const Grouping& nodes,
                                std::span<const DeviceIndex> device_of_op,
                                int num_devices,
                                const std::vector<double>& weight);

/// Returns a level with its layout; lengths in points.
///
///   {"name", "width", "height", "node_of_op": [num_ops],
///    "nodes": [{"title", "label", "x", "y", "w", "h", "device", "shares": [num_devices] of its
///      time (only if its ops are on several devices), "ops", "time_ns", "resident_bytes", "top":
///      [ops that take longest]}],
///    "edges": [{"from", "to", "bytes", "back", "tensors", "path": [x, y, ...]}],
///    "light_edges": number of omitted edges, "light_share": their share of the bytes}
///
/// @return null if `dot` takes too long
/// @throws RunError as LayOutGraph() does
Json LevelJson(const Graph& graph,
               const DrawingLevel& level,
               std::span<const DeviceIndex> device_of_op,
               int num_devices,
               const std::vector<double>& weight);

/// Returns a graph's ops in a compact form, because a graph may have 80,000 of them:
///
///   {"name", "ops": their number, "names": FrontCoded(), "kinds": [...],
///    "kind": [num_ops] index into kinds, "phase": a digit per op}
Json GraphJson(const Graph& graph);

/// Shortens texts with common beginnings. Each text is the number of leading (ASCII) characters
/// that it shares with the text before, then the rest. [2 * texts]
Json FrontCoded(const std::vector<std::string>& texts);

}  // namespace emplace
