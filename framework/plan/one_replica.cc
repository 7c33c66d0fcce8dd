#include "framework/plan/one_replica.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/plan/replicas.h"

namespace emplace {
namespace {

/// Returns the graph with the collectives of `reduced` behind the last
/// producer of each bucket.
/// @param num_devices  of the replica
PlannedGraph WithCollectives(const PlannedGraph& one,
                             const std::vector<Bucket>& buckets,
                             const PlannedGraph& reduced,
                             std::size_t num_devices) {
  const Graph& graph = one.graph;
  std::vector<std::vector<int>> after(graph.num_ops());
  std::vector<int> collective(buckets.size()), new_id(graph.num_ops());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    after[buckets[b].after].push_back(static_cast<int>(b));
  }
  int next = 0;
  for (int op = 0; op < graph.num_ops(); ++op) {
    new_id[op] = next++;
    for (int b : after[op]) collective[b] = next++;
  }
  std::vector<const Op*> made;
  for (int op = 0; op < reduced.graph.num_ops(); ++op) {
    if (reduced.ops[op].role == PlannedRole::kCollective) made.push_back(&reduced.graph.op(op));
  }
  std::vector<std::set<int>> awaited(graph.num_ops());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    for (int tensor : buckets[b].tensors) {
      for (int reader : graph.readers(tensor)) {
        if (graph.op(reader).phase == Phase::kUpdate) awaited[reader].insert(collective[b]);
      }
    }
  }
  std::vector<Tensor> tensors(graph.tensors().begin(), graph.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops;
  std::vector<PlannedOp> origin;
  for (int op = 0; op < graph.num_ops(); ++op) {
    ops.push_back(graph.op(op));
    if (ops.back().devices.size() == num_devices) ops.back().devices.clear();
    for (int& each : ops.back().control_inputs) each = new_id[each];
    std::ranges::copy(awaited[op], std::back_inserter(ops.back().control_inputs));
    origin.push_back(one.ops[op]);
    for (int b : after[op]) {
      Op reduce = *made[b];
      for (auto* ids : {&reduce.inputs, &reduce.outputs}) {
        for (int& tensor : *ids) {
          Tensor copy = reduced.graph.tensor(tensor);
          copy.producer = -1;
          tensor = static_cast<int>(tensors.size());
          tensors.push_back(std::move(copy));
        }
      }
      std::set<int> producers;
      for (int each : buckets[b].tensors) producers.insert(new_id[graph.tensor(each).producer]);
      reduce.control_inputs.assign(producers.begin(), producers.end());
      ops.push_back(std::move(reduce));
      origin.push_back({PlannedRole::kCollective});
    }
  }
  return {Graph(graph.name(),
                std::move(tensors),
                std::move(ops),
                graph.source(),
                graph.name(),
                graph.extra()),
          std::move(origin)};
}

/// Returns the cluster of some devices and those of class network.
std::shared_ptr<const Cluster> WithDevices(const Cluster& cluster, const std::vector<int>& some) {
  std::vector<int> kept = some;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) kept.push_back(d);
  }
  std::vector<Device> devices;
  std::vector<std::vector<int>> routes;
  for (int from : kept) {
    devices.push_back(cluster.device(from));
    std::uint64_t neighbors = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (devices.back().neighbors >> kept[i] & 1) neighbors |= std::uint64_t{1} << i;
    }
    devices.back().neighbors = neighbors;
    for (int to : kept) {
      const auto route = from == to ? std::span<const int>() : cluster.route(from, to);
      routes.emplace_back(route.begin(), route.end());
    }
  }
  return std::make_shared<const Cluster>(
      cluster.name(),
      std::vector<DeviceKind>(cluster.kinds().begin(), cluster.kinds().end()),
      std::move(devices),
      std::vector<Channel>(cluster.channels().begin(), cluster.channels().end()),
      std::move(routes));
}

}  // namespace

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
      Grouping::Identity(2));
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

PlannedStep ApplyPlanToOne(const Graph& step,
                           const Cluster& cluster,
                           const Plan& plan,
                           const Grouping& together) {
  const std::vector<std::vector<int>> groups = DeviceGroups(plan, cluster);
  std::vector<std::string> names;
  std::size_t largest = 0;
  for (int d : groups[0]) names.push_back(QuoteYaml(cluster.device(d).name));
  for (const std::vector<int>& group : groups) largest = std::max(largest, group.size());
  Plan first = plan;
  first.replicas = 1;
  first.groups = ConfigNode::FromString(fmt::format("[[{}]]", fmt::join(names, ", ")), "groups");
  PlannedStep one = ApplyPlan(step, cluster, first, together);
  std::vector<Bucket> buckets;
  if (groups.size() > 1) {
    std::map<std::string, int> first_of_label;
    std::vector<int> place(one.planned.graph.num_ops(), 0);
    for (int op = 0; op < one.planned.graph.num_ops() && largest > 1; ++op) {
      const std::string& label = one.planned.graph.op(op).colocate;
      place[op] = label.empty() ? op : first_of_label.emplace(label, op).first->second;
    }
    buckets = GradientBuckets(one.planned.graph, Grouping(place), BucketBytes(plan));
  }
  std::vector<Tensor> gradients;
  for (const Bucket& bucket : buckets) {
    const std::string& dtype = one.planned.graph.tensor(bucket.tensors.front()).dtype;
    gradients.push_back({.dtype = dtype, .bytes = bucket.bytes});
  }
  const PlannedStep reduced = ReduceAlone(cluster, plan, std::move(gradients));
  return {WithCollectives(one.planned, buckets, reduced.planned, groups[0].size()),
          WithDevices(*reduced.cluster, groups[0])};
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
