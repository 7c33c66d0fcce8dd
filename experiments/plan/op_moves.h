#pragma once

// Moves single ops of a plan of one replica between its devices, beginning with its stages. So it
// finds stages that are not contiguous, and splits layers.
//
// The agent hill_climb (agents/hill_climb) proposes moves; all copies of an op, and the ops of its
// label, are on one device. The planned graph and its issue order stay.

#include <cstdint>
#include <functional>

#include "experiments/plan/plan_simulation.h"

namespace emplace {

struct MovedOps {
  PlacedPlan placed;  ///< groups of its problem, with a label each, are the ops placed together
  Outcome outcome;    ///< at most the step time of the plan, and it fits if the plan does
  int num_moved = 0;  ///< ops of the step on another device than before
};

/// @param placed       of one replica
/// @param evaluations  placements that are simulated
/// @param stop         ends the search early
MovedOps MoveOps(const PlanSetting& setting,
                 const PlacedPlan& placed,
                 std::int64_t evaluations,
                 const std::function<bool()>& stop);

}  // namespace emplace
