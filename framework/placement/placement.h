#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/graph/graph_io.h"
#include "framework/graph/grouping.h"

namespace emplace {

/// A device by its place in Cluster::devices(), below kMaxDevices.
using DeviceIndex = std::uint8_t;

/// A device per group of a problem's grouping.
struct Placement {
  std::vector<DeviceIndex> device;  ///< [num_groups]

  bool operator==(const Placement&) const = default;
};

/// Device per op. @return [num_ops]
std::vector<DeviceIndex> ExpandPlacement(const Placement& placement, const Grouping& grouping);

/// Device per group from a device per op [num_ops].
/// @param where  stands for the file in messages
/// @throws InputError if ops of one group have different devices, naming two of them
Placement ContractPlacement(std::span<const DeviceIndex> device_of_op,
                            const Grouping& grouping,
                            const Graph& graph,
                            const Cluster& cluster,
                            const std::string& where = "placement");

/// How a placement was simulated, in the words of run configs: the question of which `step_time`
/// is the answer.
struct SimulatedAs {
  std::string semantics = "queue";
  std::string priority = "id";
  std::string objective = "step_time";
  bool count_gaps = false;
  std::string costs = "none";  ///< path of the cost file, or none
  /// Passes whose groups were simulated as a few ops each, as a YAML list; empty: op by op.
  std::string contracted;
  std::optional<Nanos> step_time;  ///< the objective [ns]

  bool operator==(const SimulatedAs&) const = default;
};

/// What a placement file holds.
struct PlacementFile {
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops]
  /// Op ids in the order in which stream semantics issues them, [num_ops]; empty: the file has
  /// none.
  std::vector<int> issue_order;
  std::optional<SimulatedAs> simulated;  ///< none: the file does not say
};

/// Reads `emplace-placement` version 1 (FORMAT.md; JSON, also gzipped). A placement made for a
/// graph or cluster of another name is taken under a warning, since op and device names decide; the
/// keys `graph` and `cluster` may be missing.
/// @throws InputError naming file, op, device and choices: unknown op or device, an op missing or
///   twice, an issue order in which an op stands before one that it awaits
PlacementFile ReadPlacement(const std::filesystem::path& path,
                            const Graph& graph,
                            const Cluster& cluster,
                            const WarningSink& warn = {});
PlacementFile ParsePlacement(const std::string& json,
                             const Graph& graph,
                             const Cluster& cluster,
                             const std::string& where,
                             const WarningSink& warn = {});

/// `emplace-placement` version 1 text, ops in graph order.
/// @param issue_order  [num_ops]; empty: the key is left out
/// @param simulated    none: the key is left out
std::string FormatPlacement(std::span<const DeviceIndex> device_of_op,
                            const Graph& graph,
                            const Cluster& cluster,
                            std::span<const int> issue_order = {},
                            const std::optional<SimulatedAs>& simulated = {});

}  // namespace emplace
