#include "framework/cost/costs.h"

namespace emplace {

std::string_view ToString(CostSource source) {
  switch (source) {
    case CostSource::kMeasured:
      return "measured";
    case CostSource::kNeighbour:
      return "neighbour";
    case CostSource::kRoofline:
      return "roofline";
    case CostSource::kDefault:
      return "default";
    case CostSource::kFree:
      return "free";
  }
  return "";
}

std::vector<int> DevicesOfEqualCosts(const Costs& costs) {
  const auto equal = [&](int a, int b) {
    for (int v = 0; v < costs.num_ops; ++v) {
      if (costs.at(v, a) != costs.at(v, b) ||
          costs.interference_at(v, a) != costs.interference_at(v, b)) {
        return false;
      }
    }
    return true;
  };
  std::vector<int> least(costs.num_devices);
  for (int d = 0; d < costs.num_devices; ++d) {
    while (!equal(least[d], d)) ++least[d];
  }
  return least;
}

}  // namespace emplace
