#pragma once

// A machine of two kinds of GPUs, for the tests of plan searches.

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/framework/plan/training_steps.h"

namespace emplace::testing {

/// Returns the GPUs of EqualGpus(), of which the first `fast` are of kind "gpu", the others of kind
/// "slow".
inline std::shared_ptr<const Cluster> Gpus(int count,
                                           int fast,
                                           std::int64_t memory = kUnlimitedMemory,
                                           Nanos latency = 5) {
  const Cluster equal = EqualGpus(count, latency);
  std::vector<DeviceKind> kinds(2, equal.kinds()[0]);
  kinds[1].name = "slow";
  std::vector<Device> devices(equal.devices().begin(), equal.devices().end());
  for (int d = 0; d < count; ++d) {
    devices[d].kind = d < fast ? 0 : 1;
    devices[d].memory = memory;
  }
  std::vector<std::vector<int>> routes;
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      const auto route = from == to ? std::span<const int>() : equal.route(from, to);
      routes.emplace_back(route.begin(), route.end());
    }
  }
  return std::make_shared<const Cluster>(
      "gpus",
      std::move(kinds),
      std::move(devices),
      std::vector<Channel>(equal.channels().begin(), equal.channels().end()),
      std::move(routes));
}

}  // namespace emplace::testing
