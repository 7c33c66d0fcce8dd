#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/graph/graph_io.h"
#include "framework/graph/grouping.h"

namespace emplace {

/// Index of a device in Cluster::devices(), below kMaxDevices.
using DeviceIndex = std::uint8_t;

/// A device for each group of a problem's grouping.
struct Placement {
  std::vector<DeviceIndex> device;  ///< [num_groups]

  bool operator==(const Placement&) const = default;
};

/// Returns the device of each op. [num_ops]
std::vector<DeviceIndex> ExpandPlacement(const Placement& placement, const Grouping& grouping);

/// Returns the device of each group from the device of each op [num_ops].
/// @param where  stands for the file in messages
/// @throws InputError naming two ops of one group that have different devices
Placement ContractPlacement(std::span<const DeviceIndex> device_of_op,
                            const Grouping& grouping,
                            const Graph& graph,
                            const Cluster& cluster,
                            const std::string& where = "placement");

/// @throws InputError naming `where` and two ops with the same colocate label on different devices
/// @param device_of_op  [num_ops]
void RequireLabelsTogether(std::span<const DeviceIndex> device_of_op,
                           const Graph& graph,
                           const Cluster& cluster,
                           const std::string& where);

/// The settings of the simulation that computed `step_time`, named as in run configs.
struct SimulatedAs {
  std::string semantics = "queue";
  std::string priority = "id";
  std::string objective = "step_time";
  bool count_gaps = false;
  std::string costs = "none";  ///< path of the cost file, or none
  /// YAML list of the passes whose groups were simulated as a few ops each; empty: op by op.
  std::string contracted;
  std::optional<Nanos> step_time;  ///< the objective [ns]

  bool operator==(const SimulatedAs&) const = default;
};

/// Returns whether a path names a placement file, by its ending.
bool IsPlacementFile(std::string_view path);

/// Content of a placement file.
struct PlacementFile {
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops]
  /// [num_ops] op ids in the order in which stream semantics issues them; empty: not in the file.
  std::vector<int> issue_order;
  std::optional<SimulatedAs> simulated;  ///< nullopt: not in the file
};

/// Reads `emplace-placement` version 1 (FORMAT.md; JSON, also gzipped). Accepts a placement for a
/// graph or cluster of another name with a warning, because only op and device names matter. The
/// keys `graph` and `cluster` may be missing.
/// @throws InputError naming file, op, device and choices: an unknown op or device, an op that is
///   missing or occurs twice, an issue order in which an op precedes one of its predecessors
PlacementFile ReadPlacement(const std::filesystem::path& path,
                            const Graph& graph,
                            const Cluster& cluster,
                            const WarningSink& warn = {});
PlacementFile ParsePlacement(const std::string& json,
                             const Graph& graph,
                             const Cluster& cluster,
                             const std::string& where,
                             const WarningSink& warn = {});

/// Returns `emplace-placement` version 1 text, with ops in graph order.
/// @param issue_order  [num_ops]; empty: the key is omitted
/// @param simulated    nullopt: the key is omitted
std::string FormatPlacement(std::span<const DeviceIndex> device_of_op,
                            const Graph& graph,
                            const Cluster& cluster,
                            std::span<const int> issue_order = {},
                            const std::optional<SimulatedAs>& simulated = {});

}  // namespace emplace
