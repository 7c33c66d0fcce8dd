#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/reference/reference.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

/// Timeline of the plain implementation; fails the test if the fast engine disagrees on the step
/// time, or on a peak or busy time.
/// @param device_of_op  [num_ops]
inline Timeline Simulate(const std::shared_ptr<const Problem>& problem,
                         const std::vector<DeviceIndex>& device_of_op,
                         const SimulatorOptions& options) {
  Timeline timeline = SimulateReference(*problem, device_of_op, options);
  const Outcome fast = MakeSimulator(problem, options)->Evaluate(Placement{device_of_op});
  CHECK(fast.step_time == timeline.outcome.step_time);
  for (int d = 0; d < problem->num_devices(); ++d) {
    CHECK(fast.devices[d].peak == timeline.outcome.devices[d].peak);
    CHECK(fast.devices[d].busy == timeline.outcome.devices[d].busy);
  }
  return timeline;
}

inline const SimulatorOptions kQ{Semantics::kQueue};
inline const SimulatorOptions kS{Semantics::kStream};

/// Devices d0, d1, ... without channels.
inline ProblemBuilder Devices(int count) {
  ProblemBuilder builder;
  for (int d = 0; d < count; ++d) builder.Device("d" + std::to_string(d));
  return builder;
}

/// Problems that fit direct runs of queue semantics (queue_direct.h).
inline RandomProblemOptions OneHopOptions(Rng& rng, int round) {
  return {.num_ops = 1 + UniformInt(rng, round % 10 == 0 ? 200 : 50),
          .num_devices = 1 + UniformInt(rng, 5),
          .ties = UniformInt(rng, 4) > 0,
          .gaps = UniformInt(rng, 2) == 0,
          .slots = false,
          .shared_channels = UniformInt(rng, 2) == 0,
          .egress = UniformInt(rng, 2) == 0,
          .hops = false,
          .broadcast = UniformInt(rng, 2) == 0,
          .host_costs = false,
          .occupies = false,
          .forbidden = UniformInt(rng, 4) == 0};
}

/// Options with each semantics of the table and defaults otherwise, for what must hold in all.
inline std::vector<SimulatorOptions> EverySemantics() {
  std::vector<SimulatorOptions> all;
  for (const Semantics semantics : AllSemantics()) all.push_back({semantics});
  return all;
}

}  // namespace emplace::testing
