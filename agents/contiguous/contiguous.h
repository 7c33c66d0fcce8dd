#pragma once

// Contiguous blocks of equal cost.
//
// The groups in topological order (Problem::group_order) are cut into one block per device, so that
// each block's share of the total cost is the device's share of the total speed. Group g, whose
// mean cost w_g over the used devices spans [a, a + w_g) of the running sum, goes to the device
// whose share contains the midpoint a + w_g / 2. With `sweep_devices` the placements over the first
// 1, 2, ..., all selected devices are evaluated. Sets of devices that no group connects, as those
// of the replicas of a plan (framework/plan/), are cut each by itself; the first devices are those
// of each set.
//
// Groups without work (parameters, constants) and groups that are allowed on no selected device go
// to the device of the neighbour with which they share the most bytes, if they are allowed there,
// else to their first allowed device. Groups that are not allowed on their block's device go to the
// nearest allowed block. Memory and the bytes of the cut are not considered: a backward pass that
// is not co-located with its forward pass goes to the last devices.
//
// Reference: the usual manual pipeline split; A. Mirhoseini et al., ICML 2017, expert placement of
// Inception-V3 ("contiguous parts").

#include <span>
#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct ContiguousConfig {
  std::string devices = "gpu";
  bool sweep_devices = true;
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names");
    v.Field("sweep_devices", sweep_devices, "also try only the first 1, 2, ... devices");
  }
};

/// Returns the placement with one block per device, in the order of `devices`.
/// @param order  of groups; all others follow their neighbours. Empty: Problem::group_order()
Placement ContiguousPlacement(const Problem& problem,
                              const std::vector<int>& devices,
                              std::span<const int> order = {});

class ContiguousAgent final : public ConstructiveAgent {
 public:
  using Config = ContiguousConfig;
  /// @throws SettingError if the cluster has no such devices
  ContiguousAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::vector<int> devices_;
  bool sweep_devices_;
};

}  // namespace emplace
