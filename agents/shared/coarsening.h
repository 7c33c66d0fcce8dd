#pragma once

// What the coarseners share that merge groups with neighbours in random order.

#include <vector>

#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace {

/// Mean cost of each group over the devices on which it is allowed. [num_groups] [ns]
std::vector<double> MeanCosts(const Problem& problem);

/// 0 .. n - 1, each order as likely as any other.
std::vector<int> RandomOrder(int n, Rng& rng);

}  // namespace emplace
