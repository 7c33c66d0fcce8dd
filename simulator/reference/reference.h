#pragma once

// The plain implementation of every semantics: written for reading, after the text of README.md,
// and not for speed. Tests require every faster implementation to equal it, to the nanosecond and
// the byte. It also makes the timelines, since engines keep no events.

#include <span>

#include "framework/placement/placement.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"
#include "simulator/timeline.h"

namespace emplace {

/// Simulates one step and keeps all events. Much slower than an engine: not for searches.
/// @param device_of_op  [num_ops]; expand a placement of groups with ExpandPlacement()
/// @param options       `threads` has no influence
/// @return events, and the outcome with channels and op times
/// @throws InputError naming ops and devices: an op on a device where it may not run, a missing
///   route; as RequireIssueOrder() does
Timeline SimulateReference(const Problem& problem,
                           std::span<const DeviceIndex> device_of_op,
                           const SimulatorOptions& options);

}  // namespace emplace
