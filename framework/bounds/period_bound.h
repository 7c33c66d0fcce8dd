#pragma once

// Lower bounds for the period objective (simulator/README.md, "The second objective: pipelined
// steps"). The methods, in the order in which they are tried:
//
//   work, group         bounds.h; the cost of the most expensive group on its best device
//   cuts                groups that must share a device, least transfers of devices (device_cuts.h)
//   spreading           linear programs over the lengths of items (spreading.h)
//   device_sets         the sets of groups that one device can have (device_sets.h)
//   branch_and_bound    the mixed-integer program (period_programme.h, mip.h), with rows for the
//                       least payments of devices (least_payment.h), which take up to 10 % of the
//                       time
//   classes             the program of classes of devices (period_programme.h) by HiGHS (highs.h),
//                       if its package is there, in a process of its own beside the others: until
//                       it is solved, or for 40 % of the time and at least 4 s
//   highs               then the program of the problem as given, likewise
//
// period_methods.h runs those between the first line and the last two.

#include "framework/base/time.h"
#include "framework/bounds/lower_bound.h"
#include "framework/search/compiled_period.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns a value above every period: the sum of the largest costs of all ops and the largest
/// times of all items, each item once, plus 1. [ns]
Nanos MostPeriod(const CompiledPeriod& problem);

/// Returns the best bound proved within `options.seconds`, at most `known`; with 0 seconds the
/// better of "work" and "group".
/// @throws Interrupted
LowerBound ProvePeriodBound(const Problem& problem, const ProofOptions& options = {});

}  // namespace emplace
