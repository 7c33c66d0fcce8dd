#pragma once

// Functions shared by the coarseners that merge groups with neighbours in random order.

#include <vector>

#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns the mean cost of each group over its allowed devices. @return [num_groups] [ns]
std::vector<double> MeanCosts(const Problem& problem);

/// Returns a uniformly random permutation of 0 .. n - 1.
std::vector<int> RandomOrder(int n, Rng& rng);

}  // namespace emplace
