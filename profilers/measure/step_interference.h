#pragma once

// Fits how much classes of ops slow one another down in whole steps (simulator/README.md,
// "Interference semantics"). An op alone in a loop finds its data in its core's caches. In a step
// it reads them from memory or from a cache that its neighbours use, too, so interference is
// stronger. Traced steps show it: the same op ran concurrently with various other ops, and alone.
//
// Consider the runs i of one op on one kind of device. Let t_i be the time of run i, and x_ic the
// share of it during which an activity of class c ran on neighbouring devices. The model is
//
//   t_i = a (1 + s_v sum_c p_c x_ic) + noise,
//
// where v is the op's class, s_v its sensitivity, and p the pressures, which are the same for all
// ops; a belongs to the op. Runs are compared with the mean of the same op, so that s and p do not
// depend on a. Weights are 1 / a. s and p are found alternately by least squares, with none below 0
// (rank 1, as the simulation assumes). The class x class matrix without that constraint is
// reported, too.

#include "framework/cost/cost_table.h"
#include "profilers/measure/traced_steps.h"

namespace emplace {

/// Fits DeviceKind::interference by class for the kinds that the steps cover well enough, and
/// writes the class x class matrix into CostTable::interference. There, victim and aggressor are
/// the name of a device kind and a class; each entry has a 95 % interval and the modelled factor.
/// Earlier values of a class (interference_phase.h) count as much as kPriorNanos of ops with full
/// overlap. Values of single ops on such kinds are removed, because they are from isolated ops.
void WriteStepInterference(const TracedSteps& steps, CostTable& table);

/// Time of ops that overlapped with others [ns]. With less than kLeastNanos nothing is fitted.
inline constexpr double kPriorNanos = 3e5, kLeastNanos = 2e6;

}  // namespace emplace
