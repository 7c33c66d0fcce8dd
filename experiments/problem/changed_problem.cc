#include "experiments/problem/changed_problem.h"

#include <span>
#include <utility>

namespace emplace {

std::shared_ptr<const Problem> ChangeProblem(const std::shared_ptr<const Problem>& given,
                                             std::vector<DeviceKind> kinds,
                                             std::vector<Channel> channels,
                                             Costs costs) {
  const Cluster& cluster = given->cluster();
  std::vector<std::vector<int>> routes;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      const auto route = from != to ? cluster.route(from, to) : std::span<const int>{};
      routes.emplace_back(route.begin(), route.end());
    }
  }
  return std::make_shared<const Problem>(
      std::shared_ptr<const Graph>(given, &given->graph()),
      given->grouping(),
      std::make_shared<const Cluster>(
          cluster.name(),
          std::move(kinds),
          std::vector<Device>(cluster.devices().begin(), cluster.devices().end()),
          std::move(channels),
          std::move(routes)),
      std::move(costs),
      given->objective(),
      ProblemChecks::kPlacementOnly);
}

}  // namespace emplace
