#pragma once

// Period problems small enough that all their placements can be tried.

#include <memory>

#include "framework/base/random.h"
#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace::testing {

/// a -> b, 10 ns each on either of two equal devices, 4 ns for the transfer.
std::shared_ptr<const Problem> PairOfOps();

/// A few groups on two or three devices that differ or not: routes, costs, memory, who pays.
std::shared_ptr<const Problem> SmallPeriod(Rng& rng);

/// The period of the best placement; kMaxNanos if none fits into memory. [ns]
Nanos LeastPeriod(const std::shared_ptr<const Problem>& problem);

}  // namespace emplace::testing
