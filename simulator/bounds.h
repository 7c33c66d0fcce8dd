#pragma once

// Proven lower bounds on the step time of every placement, for both semantics:
//   critical path   longest chain of dependent ops, each at its best device's cost
//   work            ops split fractionally over the devices as well as possible:
//                   min T  s.t.  sum_k x_vk = 1,  sum_v c_vk x_vk <= slots_k T,  x >= 0
//                   over device kinds k (a linear programme)

#include "framework/search/problem.h"

namespace emplace {

struct Bounds {
  Nanos critical_path = 0;  ///< [ns]
  Nanos work = 0;           ///< [ns], rounded up (step times are integers)
  Nanos best() const { return critical_path > work ? critical_path : work; }
};

Bounds ComputeBounds(const Problem& problem);

}  // namespace emplace
