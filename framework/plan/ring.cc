#include "framework/plan/ring.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {

const std::vector<std::string>& CollectiveNames() {
  static const std::vector<std::string> names = {
      "all_gather", "all_reduce", "all_to_all", "reduce_scatter"};
  return names;
}

Nanos RingTime(std::string_view name,
               const Cluster& cluster,
               std::span<const int> members,
               std::int64_t bytes) {
  const auto count = static_cast<std::int64_t>(members.size());
  if (count < 2) return 0;
  const std::int64_t chunk = (bytes + count - 1) / count;
  Nanos slowest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const int from = members[i], to = members[(i + 1) % count];
    const auto route = cluster.route(from, to);
    if (route.empty()) {
      throw InputError(fmt::format("cluster \"{}\": no route from {} to {}, for {}",
                                   cluster.name(),
                                   cluster.device(from).name,
                                   cluster.device(to).name,
                                   name));
    }
    Nanos time = 0;
    for (int channel : route) {
      time += cluster.channel(channel).latency + WireTime(chunk, cluster.channel(channel));
    }
    slowest = std::max(slowest, time);
  }
  return (name == "all_reduce" ? 2 : 1) * (count - 1) * slowest;
}

}  // namespace emplace
