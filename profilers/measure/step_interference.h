#pragma once

// How much classes of ops slow one another down in whole steps (simulator/README.md, "Interference
// semantics"). An op alone in a loop finds its data in its core's caches; in a step it reads them
// from memory or from a cache that its neighbours use, too. So what neighbours cost is larger in
// steps, and traced steps tell it: the same op ran beside this and that, and beside nothing.
//
// Of the runs of one op on one kind of device let i be one, t_i its time, and x_ic the share of it
// during which something of class c ran on neighbouring devices. The model is
//
//   t_i = a (1 + s_v sum_c p_c x_ic) + noise,
//
// v the op's class, s its sensitivity, p the pressures, the same for all ops; a is the op's own.
// Runs are compared with the mean of the same op, so that a says nothing of s and p. Weights are
// 1 / a. s and p are found in turns by least squares, none below 0 (rank 1: the contract of the
// simulation); the class x class matrix without that constraint is told beside it.

#include "framework/cost/cost_table.h"
#include "profilers/measure/traced_steps.h"

namespace emplace {

/// Fits DeviceKind::interference by class for the kinds of which the steps show enough, and writes
/// the class x class matrix into CostTable::interference: victim and aggressor are a device kind's
/// name and a class, with a 95 % interval and what the figures say. What was known of a class
/// before (interference_phase.h) counts as much as kPriorNanos of ops fully beside others. Figures
/// of single ops on such kinds go, as they are of ops alone.
void WriteStepInterference(const TracedSteps& steps, CostTable& table);

/// In time of ops that ran beside others [ns]; of less than kLeastNanos nothing is fitted.
inline constexpr double kPriorNanos = 3e5, kLeastNanos = 2e6;

}  // namespace emplace
