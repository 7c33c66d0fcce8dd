#pragma once

// The least time in which the devices of a cluster can do some work, split among them optimally:
//
//   min T  s.t.  sum_k x_jk = 1,  sum_j c_jk x_jk <= slots_k T,  x >= 0
//
// over jobs j and kinds of devices k (a linear program).
//
// The value is a valid bound for any floating-point errors of the solver. Any prices p_k >= 0 of a
// device's time with sum_k slots_k p_k = 1 prove T >= sum_j min_k p_k c_jk (weak duality). The
// solver (CLP) only proposes prices. They are rounded to integers over their exact common sum. The
// bound is summed in 128-bit integers and rounded up, since times are integers. Poor prices prove a
// smaller bound, never a wrong one; in practice the value is the optimum to the nanosecond.

#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"

namespace emplace {

struct WorkBound {
  Nanos time = 0;             ///< lower bound on the time of every split, rounded up [ns]
  std::vector<double> price;  ///< [num_devices] of a slot's time; the prices of all slots sum to 1
};

/// Computes the bound. Takes at most 500 rounds of cutting planes with one variable per device
/// kind, usually a few dozen.
/// @param costs  [num_jobs, num_devices] of each job on each device; kMaxNanos where it may not
///   run; each job may run somewhere. Of devices of one kind, the least cost counts [ns]
WorkBound BoundWork(const Cluster& cluster, std::span<const Nanos> costs);

}  // namespace emplace
