#include "experiments/plan/plan_divisions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/plan/plan_simulation.h"
#include "framework/plan/collective_time.h"
#include "framework/plan/one_replica.h"

namespace emplace {

std::vector<int> StageDevices(const Cluster& cluster) {
  std::vector<int> devices;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (HasStages(cluster, d)) devices.push_back(d);
  }
  return devices;
}

std::vector<Plan> PlansOfReplicas(const Cluster& cluster, int replicas) {
  const std::vector<int> devices = StageDevices(cluster);
  const std::size_t size = devices.size() / replicas;
  std::map<std::pair<int, std::int64_t>, std::vector<int>> of_kind;
  for (int d : devices) of_kind[{cluster.device(d).kind, cluster.device(d).memory}].push_back(d);
  std::vector<std::vector<int>> kinds, nodes = FindNodes(cluster, devices);
  for (const auto& [kind, members] : of_kind) kinds.push_back(members);
  for (std::vector<int>& node : nodes) {
    for (int& place : node) place = devices[place];
  }
  std::vector<std::vector<std::vector<int>>> divisions(1);
  for (int r = 0; r < replicas; ++r) {
    const auto begin = devices.begin() + static_cast<std::ptrdiff_t>(r * size);
    divisions[0].emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  for (const auto& parts : {kinds, nodes}) {
    if (parts.size() == 1 || replicas == 1) continue;
    std::vector<int> sorted;
    bool divides = true;
    std::vector<std::vector<int>> dealt(replicas);
    for (const std::vector<int>& members : parts) {
      sorted.insert(sorted.end(), members.begin(), members.end());
      divides = divides && members.size() % replicas == 0;
      for (std::size_t i = 0; i < members.size() && divides; ++i) {
        dealt[i / (members.size() / replicas)].push_back(members[i]);
      }
    }
    std::vector<std::vector<int>> by_part(replicas);
    for (std::size_t i = 0; i < sorted.size(); ++i) by_part[i / size].push_back(sorted[i]);
    divisions.push_back(std::move(by_part));
    if (divides) divisions.push_back(std::move(dealt));
  }
  std::set<std::vector<std::vector<int>>> seen;
  std::vector<Plan> plans;
  for (std::vector<std::vector<int>>& groups : divisions) {
    for (std::vector<int>& group : groups) std::ranges::sort(group);
    if (!seen.insert(groups).second) continue;
    Plan& plan = plans.emplace_back();
    plan.replicas = replicas;
    if (plans.size() == 1) continue;  // in their order: no groups needed
    std::string text;
    for (const std::vector<int>& group : groups) {
      std::vector<std::string> names;
      for (int d : group) names.push_back(QuoteYaml(cluster.device(d).name));
      for (int d = 0; d < cluster.num_devices(); ++d) {
        if (cluster.kind_of(d).device_class == DeviceClass::kCpu && !HasStages(cluster, d))
          names.push_back(QuoteYaml(cluster.device(d).name));
      }
      text += fmt::format("- [{}]\n", fmt::join(names, ", "));
    }
    plan.groups = ConfigNode::FromString(text, "groups");
  }
  return plans;
}

bool Interchangeable(const Cluster& cluster, const std::vector<int>& alike, int a, int b) {
  const Device &x = cluster.device(a), &y = cluster.device(b);
  if (x.kind != y.kind || x.memory != y.memory || x.slots != y.slots || alike[a] != alike[b])
    return false;
  if (cluster.has_neighbors()) return false;
  std::vector<int> devices(cluster.num_devices());
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<int> exchanged = devices;
  std::swap(exchanged[a], exchanged[b]);
  return AlikeRoutes(cluster, devices, exchanged);
}

}  // namespace emplace
