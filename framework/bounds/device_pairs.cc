#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "framework/bounds/segment_search.h"
#include "framework/cluster/symmetry.h"
#include "framework/cost/costs.h"

namespace emplace {
namespace {

// Merges the classes of pairs that a symmetry maps to each other.
// @param like  [num_devices, num_devices] the first pair known to be equivalent to each
void JoinPairs(const DevicePermutation& image, std::vector<int>& like) {
  const int n = static_cast<int>(image.size());
  for (int p = 0; p < n * n; ++p) {
    const int a = like[p], b = like[image[p / n] * n + image[p % n]];
    if (a != b) std::replace(like.begin(), like.end(), std::max(a, b), std::min(a, b));
  }
}

}  // namespace

DevicePairs::DevicePairs(const Problem& problem) {
  const int n = problem.num_devices();
  const std::vector<int> label = DevicesOfEqualCosts(problem.costs());
  exchangeable = InterchangeableDevices(problem.cluster(), label);
  like.resize(std::size_t(n) * n);
  std::iota(like.begin(), like.end(), 0);
  for (int d = 0; d < n; ++d) {
    DevicePermutation image(n);
    std::iota(image.begin(), image.end(), 0);
    std::swap(image[d], image[exchangeable[d]]);
    JoinPairs(image, like);
  }
  // Covers a board of devices. More devices may have too many symmetries to list.
  constexpr int kMostDevices = 16, kMostSymmetries = 1000;
  if (n > kMostDevices) return;
  for (const auto& image : Symmetries(problem.cluster(), label, kMostSymmetries)) {
    JoinPairs(image, like);
  }
}

}  // namespace emplace
