#pragma once

#include <vector>

#include <doctest/doctest.h>

#include "simulator/reference.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

/// Timeline of the reference; fails the test if the fast engine disagrees on time or peaks.
inline Timeline Simulate(const std::shared_ptr<const Problem>& problem,
                         const std::vector<DeviceIndex>& device_of_op,
                         const SimulatorOptions& options) {
  Timeline timeline = SimulateReference(*problem, device_of_op, options);
  const Outcome fast = MakeSimulator(problem, options)->Evaluate(Placement{device_of_op});
  CHECK(fast.step_time == timeline.outcome.step_time);
  for (int d = 0; d < problem->num_devices(); ++d) {
    CHECK(fast.devices[d].peak == timeline.outcome.devices[d].peak);
  }
  return timeline;
}

inline constexpr SimulatorOptions kQ{Semantics::kQueue};
inline constexpr SimulatorOptions kS{Semantics::kStream};

}  // namespace emplace::testing
