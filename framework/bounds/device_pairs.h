#pragma once

// The interchangeable devices of a problem, and the interchangeable ordered pairs of devices
// (framework/cluster/symmetry.h). A proof about one of them holds for the others.

#include <vector>

#include "framework/search/problem.h"

namespace emplace {

struct DevicePairs {
  /// Finds the symmetries of at most 16 devices. For more devices, tries only exchanges of two.
  explicit DevicePairs(const Problem& problem);

  std::vector<int> exchangeable;  ///< [num_devices] first device exchangeable with each
  /// [num_devices, num_devices] the first equivalent pair, as an index into this matrix
  std::vector<int> like;
};

}  // namespace emplace
