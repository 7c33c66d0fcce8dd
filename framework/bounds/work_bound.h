#pragma once

// How long the devices of a cluster need at least for some work, split among them as well as
// possible:
//
//   min T  s.t.  sum_k x_jk = 1,  sum_j c_jk x_jk <= slots_k T,  x >= 0
//
// over jobs j and kinds of devices k (a linear programme).
//
// The value holds whatever floating-point errors a solver makes. Any prices p_k >= 0 of a device's
// time with sum_k slots_k p_k = 1 prove T >= sum_j min_k p_k c_jk (weak duality). The solver (CLP)
// only proposes prices. They are rounded to integers over their exact common sum, and what they
// prove is added up in integers of 128 bits and rounded up, times being integers. Poor prices prove
// less, never too much; in practice the value is the optimum to the nanosecond.

#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"

namespace emplace {

struct WorkBound {
  Nanos time = 0;             ///< no split takes less, rounded up [ns]
  std::vector<double> price;  ///< [num_devices] of a slot's time; the prices of all slots sum to 1
};

/// Takes at most 500 rounds of cutting planes with one variable per device kind, usually a few
/// dozen.
/// @param costs  [num_jobs, num_devices] of each job on each device, kMaxNanos where it may not
///   run, but it may on some; of devices of one kind the least counts [ns]
WorkBound BoundWork(const Cluster& cluster, std::span<const Nanos> costs);

}  // namespace emplace
