#pragma once

// What a simulated step is like: the figures that errors of the simulation may go with
// (profilers/statistics/residuals.h).

#include <array>
#include <span>

#include "framework/search/evaluator.h"
#include "profilers/statistics/residuals.h"

namespace emplace {

/// Bytes and number of copies to other devices (CopiesOf(), framework/schedule/transfer_plan.h:
/// a tensor crosses once to each device with a reader; control edges count as crossings of 0
/// bytes), OverlapShare() and the step time. [by StepTrait]
/// @param device_of_op  [num_ops]    @param outcome  with op times
std::array<double, kNumStepTraits> TraitsOf(const Problem& problem,
                                            std::span<const DeviceIndex> device_of_op,
                                            const Outcome& outcome);

/// Share of the step time in which two devices or more run ops. 0 for a step without time.
double OverlapShare(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    const Outcome& outcome);

}  // namespace emplace
