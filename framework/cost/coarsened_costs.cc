#include "framework/cost/coarsened_costs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace emplace {

std::vector<double> BestDeviceCosts(const Costs& costs) {
  std::vector<double> best(costs.num_ops, 0);
  for (int v = 0; v < costs.num_ops; ++v) {
    Nanos least = kMaxNanos;
    for (int d = 0; d < costs.num_devices; ++d) least = std::min(least, costs.at(v, d));
    if (least < kMaxNanos) best[v] = static_cast<double>(least);
  }
  return best;
}

Costs ContractCosts(const Costs& costs, const Grouping& grouping) {
  const int num_groups = grouping.num_groups(), num_devices = costs.num_devices;
  Costs sums{num_groups, num_devices};
  for (int group = 0; group < num_groups; ++group) {
    for (int d = 0; d < num_devices; ++d) {
      Nanos sum = 0, largest = -1;
      double error = 0, sensitivity = 0, pressure = 0;
      CostSource source = CostSource::kFree;
      for (int v : grouping.members(group)) {
        const Nanos cost = costs.at(v, d);
        sum = costs.allowed(v, d) && sum < kMaxNanos ? sum + cost : kMaxNanos;
        error += static_cast<double>(cost) * costs.uncertainty[size_t(v) * num_devices + d];
        const Interference figures = costs.interference_at(v, d);
        sensitivity += static_cast<double>(cost) * figures.sensitivity;
        pressure += static_cast<double>(cost) * figures.pressure;
        if (cost > largest) {
          largest = cost;
          source = costs.source_at(v, d);
        }
      }
      sums.time.push_back(sum);
      sums.source.push_back(source);
      const double weight = sum > 0 ? static_cast<double>(sum) : 1;
      sums.uncertainty.push_back(static_cast<float>(error / weight));
      if (costs.interference.empty()) continue;
      const auto mean = [&](double total) {
        return sum < kMaxNanos ? static_cast<int>(std::floor(total / weight + 0.5)) : 0;
      };
      sums.interference.push_back({mean(sensitivity), mean(pressure)});
    }
  }
  return sums;
}

}  // namespace emplace
