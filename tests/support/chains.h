#pragma once

// Chains of equal groups, and the devices that a placement uses.

#include <memory>
#include <set>
#include <string>

#include "tests/support/problems.h"

namespace emplace::testing {

/// Returns a problem of ops that each read the output of the op before.
inline std::shared_ptr<const Problem> Chain(int num_ops, int num_gpus) {
  ProblemBuilder builder = Gpus(num_gpus);
  int last = builder.Op("op0", {1}, {}, 10);
  for (int i = 1; i < num_ops; ++i) {
    last = builder.Op("op" + std::to_string(i), {1}, {last}, 10);
  }
  return builder.Build();
}

/// Returns the number of devices that have at least one group.
inline int NumDevicesUsed(const Placement& placement) {
  const std::set<DeviceIndex> used(placement.device.begin(), placement.device.end());
  return static_cast<int>(used.size());
}

}  // namespace emplace::testing
