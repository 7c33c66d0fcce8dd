#pragma once

// The traits of a simulated step that may correlate with errors of the simulation
// (profilers/statistics/residuals.h).

#include <array>
#include <span>

#include "framework/search/evaluator.h"
#include "profilers/statistics/residuals.h"

namespace emplace {

/// Returns the bytes and the number of copies to other devices, OverlapShare() and the step time.
/// [by StepTrait] Copies are those of CopiesOf() (framework/schedule/transfer_plan.h): a tensor
/// crosses once to each device with a reader; control edges count as crossings of 0 bytes.
/// @param device_of_op  [num_ops]
/// @param outcome       with op times
std::array<double, kNumStepTraits> TraitsOf(const Problem& problem,
                                            std::span<const DeviceIndex> device_of_op,
                                            const Outcome& outcome);

/// Returns the share of the step time in which two or more devices run ops; 0 for a step without
/// time.
double OverlapShare(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    const Outcome& outcome);

}  // namespace emplace
