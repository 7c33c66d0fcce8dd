#pragma once

// Proven lower bounds on the step time of every placement, for both semantics:
//   critical path   longest chain of dependent ops, each at its best device's cost
//   work            ops split fractionally over the devices as well as possible:
//                   min T  s.t.  sum_k x_vk = 1,  sum_v c_vk x_vk <= slots_k T,  x >= 0
//                   over device kinds k (a linear programme)
//
// The work bound holds whatever floating-point errors a solver makes. Any prices p_k >= 0 of a
// device's time with sum_k slots_k p_k = 1 prove T >= sum_v min_k p_k c_vk (weak duality). The
// solver (CLP) only proposes prices. They are rounded to integers over their exact common sum, and
// what they prove is added up in integers of 128 bits and rounded up, step times being integers.
// Poor prices prove less, never too much; in practice the bound is the optimum to the nanosecond.

#include "framework/search/problem.h"

namespace emplace {

struct Bounds {
  Nanos critical_path = 0;  ///< [ns]
  Nanos work = 0;           ///< [ns], rounded up (step times are integers)
  Nanos best() const { return critical_path > work ? critical_path : work; }
};

Bounds ComputeBounds(const Problem& problem);

}  // namespace emplace
