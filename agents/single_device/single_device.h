#pragma once

// All groups on one device.
//
// The baseline for all other placements. Groups that may not run on the device go to the first
// allowed device of the other class (ops without a GPU kernel go to the CPU), or else to their
// first allowed device. Registered three times: as single_device and, with the class as its
// default, as single_gpu and single_cpu.
//
// Evaluates one placement. Deterministic; memory is not considered.
//
// Reference: A. Mirhoseini et al., Device Placement Optimization with Reinforcement Learning, ICML
// 2017, baselines "Single-CPU" and "Single-GPU".

#include <string>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct SingleDeviceConfig {
  std::string device = "gpu";
  void Visit(FieldVisitor& v) {
    v.Field("device", device, "a device's name, or gpu or cpu for the first device of that class");
  }
};

/// Returns the candidate devices of a group that should run on `device`: that device if allowed,
/// else the allowed devices of the other class, else all allowed devices. @return mask
std::uint64_t SingleDeviceCandidates(const Problem& problem, int group, int device);

/// Returns a placement of all groups on `device` if allowed there; the others go to the first of
/// their SingleDeviceCandidates().
Placement SingleDevicePlacement(const Problem& problem, int device);

class SingleDeviceAgent final : public ConstructiveAgent {
 public:
  using Config = SingleDeviceConfig;
  /// @throws SettingError if the cluster has no such device
  SingleDeviceAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  int device_;
};

}  // namespace emplace
