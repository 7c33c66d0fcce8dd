#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/reference.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

/// false: the fast engine of queue semantics leaves out the host and channels that occupy devices.
/// Then only the plain implementation is tested with them.
inline constexpr bool kQueueEngineKnowsHosts = true;

/// Whether the fast engine of a semantics simulates all that the problem has.
inline bool EngineKnows(const Problem& problem, Semantics semantics) {
  if (kQueueEngineKnowsHosts || semantics != Semantics::kQueue) return true;
  const Cluster& cluster = problem.cluster();
  return std::ranges::none_of(
             cluster.kinds(),
             [](const DeviceKind& kind) { return kind.issue > 0 || kind.launch > 0; }) &&
         std::ranges::none_of(cluster.channels(), [](const Channel& channel) {
           return channel.occupies != Occupies::kNone;
         });
}

/// Timeline of the plain implementation; fails the test if the fast engine disagrees on the step
/// time, or on a peak or busy time.
/// @param device_of_op  [num_ops]
inline Timeline Simulate(const std::shared_ptr<const Problem>& problem,
                         const std::vector<DeviceIndex>& device_of_op,
                         const SimulatorOptions& options) {
  Timeline timeline = SimulateReference(*problem, device_of_op, options);
  if (!EngineKnows(*problem, options.semantics)) return timeline;
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

/// Options with each semantics of the table and defaults otherwise, for what must hold in all.
inline std::vector<SimulatorOptions> EverySemantics() {
  std::vector<SimulatorOptions> all;
  for (const Semantics semantics : AllSemantics()) all.push_back({semantics});
  return all;
}

}  // namespace emplace::testing
