#pragma once

// What neighbouring devices cost in a traced step, taken off: how long its ops would have taken had
// nothing run beside them (simulator/README.md, "Interference semantics").

#include <span>
#include <vector>

#include "framework/search/problem.h"
#include "profilers/executor/executor.h"

namespace emplace {

/// The work that each command did between its start and its finish, at the rates that the problem's
/// figures of interference give for what ran on neighbouring devices meanwhile. It is the inverse
/// of what the simulator does. Commands that are no activities took as long as they took.
/// @param device_of_op  [num_ops]   @param plan, trace  of this placement
/// @return [num_commands] [ns]
std::vector<double> ApartTimes(const Problem& problem,
                               std::span<const DeviceIndex> device_of_op,
                               const ExecutionPlan& plan,
                               const StepRecord& trace);

}  // namespace emplace
