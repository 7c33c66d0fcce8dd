#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/simulator/simulate.h"

namespace emplace::testing {

/// Returns every placement of the problem: num_devices to the power of num_groups, less where
/// groups are restricted.
inline std::vector<Placement> AllPlacements(const Problem& problem) {
  std::vector<Placement> placements(1);
  for (int g = 0; g < problem.num_groups(); ++g) {
    std::vector<Placement> longer;
    for (const Placement& placement : placements) {
      for (int d = 0; d < problem.num_devices(); ++d) {
        if (!problem.allowed(g, d)) continue;
        longer.push_back(placement);
        longer.back().device.push_back(static_cast<DeviceIndex>(d));
      }
    }
    placements = std::move(longer);
  }
  return placements;
}

/// The least step of all placements in all semantics, by trying each. [ns]
struct Optimum {
  Nanos any = kMaxNanos;      ///< whether they fit or not
  Nanos fitting = kMaxNanos;  ///< of those that do; kMaxNanos: none does

  explicit Optimum(const std::shared_ptr<const Problem>& problem) {
    const std::vector<Placement> placements = AllPlacements(*problem);
    for (const SimulatorOptions& options : EverySemantics()) {
      for (const Outcome& outcome : MakeSimulator(problem, options)->Evaluate(placements)) {
        any = std::min(any, outcome.step_time);
        if (outcome.feasible) fitting = std::min(fitting, outcome.step_time);
      }
    }
  }
};

}  // namespace emplace::testing
