#pragma once

// The drawn graph of a report as data: page/placement.js draws it.

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

/// Levels for a problem's groups, the coarsest first: about 12, 25, 60 and 200 nodes, and all
/// groups where they are no more than can be laid out. The page shows the finest that is readable
/// in its window.
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

/// One level with its layout; lengths in points.
///
///   {"name", "width", "height", "node_of_op": [num_ops],
///    "nodes": [{"title", "label", "x", "y", "w", "h", "device", "shares": [num_devices] of its
///      time (only where its ops are on several), "ops", "time_ns", "resident_bytes", "top": [ops
///      that take longest]}],
///    "edges": [{"from", "to", "bytes", "back", "tensors", "path": [x, y, ...]}],
///    "light_edges": how many are left out, "light_share": their share of the bytes}
///
/// @return null if `dot` takes too long
/// @throws RunError as LayOutGraph() does
Json LevelJson(const Graph& graph,
               const DrawingLevel& level,
               std::span<const DeviceIndex> device_of_op,
               int num_devices,
               const std::vector<double>& weight);

/// A graph's ops, as short as can be, for there may be 80,000 of them:
///
///   {"name", "ops": their number, "names": FrontCoded(), "kinds": [...],
///    "kind": [num_ops] index into kinds, "phase": a digit per op}
Json GraphJson(const Graph& graph);

/// Texts with common beginnings, shortened: for each the number of leading (ASCII) characters that
/// it shares with the one before, then the rest. [2 * texts]
Json FrontCoded(const std::vector<std::string>& texts);

}  // namespace emplace
