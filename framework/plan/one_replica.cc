#include "framework/plan/one_replica.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace emplace {

PlannedStep ReduceAlone(const Cluster& cluster, const Plan& plan, std::vector<Tensor> gradients) {
  Op backward{.name = "gradients", .kind = "plan.gradients"};
  backward.phase = Phase::kBackward;
  Op update{.name = "update", .kind = "plan.update"};
  update.phase = Phase::kUpdate;
  for (Op* op : {&backward, &update}) {
    for (const DeviceKind& kind : cluster.kinds()) op->cost_ns.emplace_back(kind.name, 0);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i].role = TensorRole::kGradient;
    backward.outputs.push_back(static_cast<int>(i));
    update.inputs.push_back(static_cast<int>(i));
  }
  Plan reduce = plan;
  reduce.micro_batches = 1;
  reduce.recompute.clear();
  reduce.bucket = "0";
  return ApplyPlan(
      Graph("gradients", std::move(gradients), {std::move(backward), std::move(update)}),
      cluster,
      reduce,
      Grouping::Identity(2),
      Copies::kFirst);
}

bool AlikeRoutes(const Cluster& cluster, std::span<const int> from, std::span<const int> to) {
  std::map<int, int> image, origin;  // of channels
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::size_t j = 0; j < from.size(); ++j) {
      if (i == j) continue;
      const auto a = cluster.route(from[i], from[j]), b = cluster.route(to[i], to[j]);
      if (a.size() != b.size()) return false;
      for (std::size_t hop = 0; hop < a.size(); ++hop) {
        if (image.emplace(a[hop], b[hop]).first->second != b[hop]) return false;
        if (origin.emplace(b[hop], a[hop]).first->second != a[hop]) return false;
        const Channel &x = cluster.channel(a[hop]), &y = cluster.channel(b[hop]);
        const bool equal = x.latency == y.latency && x.setup == y.setup &&
                           x.bandwidth == y.bandwidth && x.gap == y.gap &&
                           x.broadcast == y.broadcast && x.occupies == y.occupies;
        if (!equal) return false;
      }
    }
  }
  return true;
}

std::string ReplicasDiffer(const Cluster& cluster,
                           const std::vector<std::vector<int>>& groups,
                           std::span<const int> alike_as_device) {
  std::vector<int> networks;
  std::vector<std::pair<int, int>> route_of_channel(cluster.num_channels(), {-1, -1});
  std::vector<int> group_of_channel(cluster.num_channels(), -1);
  std::vector<std::vector<int>> own(groups.size());  // devices of one group only
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) networks.push_back(d);
    std::size_t count = 0, last = 0;
    for (std::size_t r = 0; r < groups.size(); ++r) {
      if (std::ranges::binary_search(groups[r], d)) ++count, last = r;
    }
    if (count == 1) own[last].push_back(d);
  }
  const auto name = [&](int device) { return cluster.device(device).name; };
  if (cluster.has_neighbors() && groups.size() > 1)
    return "devices share caches or memory (shares)";
  for (std::size_t r = 0; r < groups.size(); ++r) {
    if (own[r].size() != own[0].size()) return "one has more devices";
    std::vector<int> a = own[0], b = own[r];
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Device &x = cluster.device(a[i]), &y = cluster.device(b[i]);
      const bool equal = x.kind == y.kind && x.memory == y.memory && x.slots == y.slots &&
                         alike_as_device[a[i]] == alike_as_device[b[i]];
      if (!equal) return fmt::format("{} and {} differ", x.name, y.name);
    }
    a.insert(a.end(), networks.begin(), networks.end());
    b.insert(b.end(), networks.begin(), networks.end());
    if (!AlikeRoutes(cluster, a, b)) {
      return fmt::format(
          "the routes between the devices of {} and those of {} differ", name(a[0]), name(b[0]));
    }
    for (int from : b) {
      for (int to : b) {
        if (from == to) continue;
        for (int channel : cluster.route(from, to)) {
          const auto [other_from, other_to] = route_of_channel[channel];
          if (group_of_channel[channel] >= 0 && group_of_channel[channel] != static_cast<int>(r)) {
            return fmt::format("{} and {} share channel {}",
                               name(other_from) + "->" + name(other_to),
                               name(from) + "->" + name(to),
                               cluster.channel(channel).name);
          }
          group_of_channel[channel] = static_cast<int>(r);
          route_of_channel[channel] = {from, to};
        }
      }
    }
  }
  return "";
}

}  // namespace emplace
