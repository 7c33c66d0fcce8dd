#pragma once

// Which devices of a problem, and which ordered pairs of them, nothing tells apart
// (framework/cluster/symmetry.h): what is proved of one holds for the others.

#include <vector>

#include "framework/search/problem.h"

namespace emplace {

struct DevicePairs {
  /// Looks for symmetries of at most 16 devices; of more, it exchanges devices one by one.
  explicit DevicePairs(const Problem& problem);

  std::vector<int> exchangeable;  ///< [num_devices] the least that each can be exchanged with
  /// [num_devices, num_devices] the least pair that is like each, as its index here
  std::vector<int> like;
};

}  // namespace emplace
