#pragma once

// The plain scalar reference of both semantics: written for reading, not for speed. Every faster
// implementation is tested for equality with it, to the nanosecond and the byte. Also the source of
// timelines.

#include <span>

#include "simulator/simulator.h"
#include "simulator/timeline.h"

namespace emplace {

/// @param device_of_op  [num_ops]
/// @throws InputError naming ops and devices: a forbidden device, a missing route
Timeline SimulateReference(const Problem& problem,
                           std::span<const DeviceIndex> device_of_op,
                           const SimulatorOptions& options);

}  // namespace emplace
