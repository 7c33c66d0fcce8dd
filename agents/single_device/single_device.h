#pragma once

// Everything on one device.
//
// The baseline every placement is compared with. Groups that may not run on the device go to the
// first allowed device of the other class ("ops without a GPU kernel on the CPU"), or, failing
// that, to the first allowed device at all. Registered three times: single_device, and, with the
// class as its default, single_gpu and single_cpu.
//
// Evaluates one placement. Deterministic; knows nothing of memory.
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

/// Where a group may go that should run on `device`: there, or else on the devices of the other
/// class, or else anywhere. @return mask of allowed devices
std::uint64_t SingleDeviceCandidates(const Problem& problem, int group, int device);

/// All groups on `device` where allowed, the others on the first of their SingleDeviceCandidates.
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
