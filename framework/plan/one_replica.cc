#include "framework/plan/one_replica.h"

#include <algorithm>
#include <map>
#include <utility>

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

bool ReplicasAreAlike(const Cluster& cluster,
                      const std::vector<std::vector<int>>& groups,
                      std::span<const int> alike_as_device) {
  std::vector<int> networks, group_of_channel(cluster.num_channels(), -1);
  std::vector<std::vector<int>> own(groups.size());  // devices of one group only
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) networks.push_back(d);
    std::size_t count = 0, last = 0;
    for (std::size_t r = 0; r < groups.size(); ++r) {
      if (std::ranges::binary_search(groups[r], d)) ++count, last = r;
    }
    if (count == 1) own[last].push_back(d);
  }
  if (cluster.has_neighbors()) return groups.size() < 2;
  for (std::size_t r = 0; r < groups.size(); ++r) {
    if (own[r].size() != own[0].size()) return false;
    std::vector<int> a = own[0], b = own[r];
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Device &x = cluster.device(a[i]), &y = cluster.device(b[i]);
      if (x.kind != y.kind || x.memory != y.memory || x.slots != y.slots) return false;
      if (alike_as_device[a[i]] != alike_as_device[b[i]]) return false;
    }
    a.insert(a.end(), networks.begin(), networks.end());
    b.insert(b.end(), networks.begin(), networks.end());
    if (!AlikeRoutes(cluster, a, b)) return false;
    for (int from : b) {
      for (int to : b) {
        if (from == to) continue;
        for (int channel : cluster.route(from, to)) {
          int& group = group_of_channel[channel];
          if (group >= 0 && group != static_cast<int>(r)) return false;
          group = static_cast<int>(r);
        }
      }
    }
  }
  return true;
}

}  // namespace emplace
