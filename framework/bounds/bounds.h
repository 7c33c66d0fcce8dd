#pragma once

// Proven lower bounds on the step time of every placement, in every semantics (simulator/README.md,
// "Lower bounds"):
//
//   critical path   longest chain of dependent ops, each at its cost on the best device
//   work            optimal fractional split of the ops over the devices:
//                   min T  s.t.  sum_k x_vk = 1,  sum_v c_vk x_vk <= slots_k T,  x >= 0
//                   over device kinds k (work_bound.h)
//
// Both treat every op separately: they ignore that the ops of a group share a device, and they
// leave out transfers and memory. For Objective::kPeriod only the work bound holds, since the
// chains of several steps overlap (period_bound.h has better bounds).

#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace {

struct Bounds {
  Nanos critical_path = 0;  ///< [ns]
  Nanos work = 0;           ///< [ns], rounded up
  /// The larger bound. The gap of a search is the best time found / bound - 1. [ns]
  Nanos best() const { return critical_path > work ? critical_path : work; }
};

/// Computes both bounds of a problem. Takes at most 500 rounds of cutting planes with one variable
/// per device kind, usually a few dozen.
Bounds ComputeBounds(const Problem& problem);

}  // namespace emplace
