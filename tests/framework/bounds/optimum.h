#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/simulator/simulate.h"
#include "tests/support/problems.h"

namespace emplace::testing {

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
