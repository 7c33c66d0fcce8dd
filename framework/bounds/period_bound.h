#pragma once

// Lower bounds for the period objective (simulator/README.md, "The second objective: pipelined
// steps"). The methods, in the order in which they are tried:
//
//   work, group         bounds.h; the dearest group on its best device
//   cuts                what a device must have in common and must pay (device_cuts.h)
//   spreading           linear programmes over the lengths of items (spreading.h)
//   branch_and_bound    the mixed-integer programme (period_programme.h, mip.h)
//
// The last two work on the problem in which groups are merged that all better placements have on
// one device.

#include "framework/base/time.h"
#include "framework/bounds/lower_bound.h"
#include "framework/search/compiled_period.h"
#include "framework/search/problem.h"

namespace emplace {

/// Every op at its dearest and every item at its dearest once, and 1: more than any period. [ns]
Nanos MostPeriod(const CompiledPeriod& problem);

/// The best bound that `options.seconds` prove, `known` at most; with 0 seconds "work" or "group".
/// @throws Interrupted
LowerBound ProvePeriodBound(const Problem& problem, const ProofOptions& options = {});

}  // namespace emplace
