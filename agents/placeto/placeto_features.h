#pragma once

// Inputs of the policy for a state of an episode: one row of features per group. With `devices:
// scored` there is also one row per device that the current group may go to.
//
// Columns of a group (NeurIPS 2019, reference code):
//   cost        on its fastest device, divided by the largest of the graph (the published devices
//               are all alike)
//   bytes       of the distinct tensors it produces for other groups, divided by the largest
//   visited     1 if the episode has passed it
//   current     1 for the group whose device is being chosen
//   start       its start in the last simulation less that of the current group, divided by the
//               largest difference; 0 before the first simulation. Setting `start_time`
//   memory      its resident bytes, divided by the largest. Setting `memory`
//   costs       log1p of its cost on each device, standardised over groups and devices; 0 where it
//               may not run. Not in the paper. Setting `device_costs`, only with one_hot
//   device      one-hot of the device it is on [num_devices]
//
// With `devices: scored`, which is not in the paper, one policy acts on any number of devices. A
// group then has, instead of the one-hot, the column
//   together    1 if it is on the current group's device
// Each device j has the following columns, computed without the current group v:
//   here        1 if v is on j now
//   cost        of v on j, divided by the largest of v's costs on allowed devices
//   load        time of all other groups on j, divided by that of the device with the largest
//   parallel    time of the groups parallel to v on j, divided by the same
//   inputs      share of the bytes read by v that are produced on j
//   outputs     share of the bytes produced by v that are read on j

#include <span>
#include <string>
#include <vector>

#include "agents/placeto/placeto_graph.h"
#include "framework/config/fields.h"

namespace emplace {

struct PlacetoFeaturesConfig {
  std::string devices = "one_hot";
  bool start_time = true;
  bool memory = false;
  bool device_costs = false;
  bool effects = false;
  void Visit(FieldVisitor& v);
  bool one_hot() const { return devices == "one_hot"; }
};

/// State of an episode before a choice.
struct PlacetoState {
  Placement placement;  ///< present, of all groups
  /// [num_groups] first op's start in the last simulation [ns], or empty
  std::vector<Nanos> start;
  std::vector<bool> visited;  ///< [num_groups]
  int current = 0;            ///< group
  /// [num_devices, MoveFeatures::kCount] of the move of the current group to each device; 0 for its
  /// present device and where it may not run. Setting `effects` only
  Matrix effects;
};

/// Several states of one problem as inputs of the network. The rows of groups are ordered by group,
/// then by state.
struct PlacetoBatch {
  int num_states() const { return static_cast<int>(current.size()); }
  Matrix groups;             ///< [num_groups * num_states, PlacetoFeatures::group_width()]
  Matrix devices;            ///< [num_states * num_devices, device_width()]; scored only
  Matrix allowed;            ///< [num_states, num_devices] nonzero where the current group may run
  std::vector<int> current;  ///< [num_states] group
  Matrix present;            ///< [num_states, num_devices] 1 at the device it is on, else 0
};

class PlacetoFeatures {
 public:
  /// @param problem, graph  outlive this
  /// @throws SettingError, under `key`: an unknown choice, or an input that `devices` does not have
  PlacetoFeatures(const Problem& problem,
                  const PlacetoGraph& graph,
                  const PlacetoFeaturesConfig& config,
                  const std::string& key);
  static int group_width(const PlacetoFeaturesConfig& config, int num_devices);
  static int device_width(const PlacetoFeaturesConfig& config);

  PlacetoBatch Batch(std::span<const PlacetoState* const> states) const;

 private:
  void FillGroups(const PlacetoState& state, int row, int stride, Matrix& groups) const;
  void FillDevices(const PlacetoState& state, int row, Matrix& devices) const;

  const Problem& problem_;
  const PlacetoGraph& graph_;
  PlacetoFeaturesConfig config_;
  Matrix fixed_;  // [num_groups, F] cost, bytes, then memory and costs as configured
  struct Flow {   // bytes between two groups
    int neighbor;
    double bytes;
  };
  std::vector<std::vector<Flow>> inputs_, outputs_;  // [num_groups]
};

}  // namespace emplace
