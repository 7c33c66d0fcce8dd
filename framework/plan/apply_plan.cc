#include "framework/plan/apply_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/plan/micro_batches.h"
#include "framework/plan/recompute.h"
#include "framework/plan/replicas.h"
#include "framework/plan/sharded_update.h"

namespace emplace {
namespace {

const std::string kNetwork = "network";

int NetworkDevice(const Cluster& cluster) {
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) return d;
  }
  return -1;
}

/// Returns the cluster with a network device that all devices reach without delay.
/// @throws InputError
std::shared_ptr<const Cluster> WithNetwork(const Cluster& cluster, int slots) {
  if (cluster.num_devices() >= kMaxDevices) {
    throw InputError(
        fmt::format("cluster \"{}\" has {} devices; a plan of several replicas adds a device of "
                    "class network, and "
                    "{} devices are the most; choices: collectives: tree, fewer devices",
                    cluster.name(),
                    cluster.num_devices(),
                    kMaxDevices));
  }
  std::vector<DeviceKind> kinds(cluster.kinds().begin(), cluster.kinds().end());
  DeviceKind kind;
  kind.name = kNetwork;
  kind.device_class = DeviceClass::kNetwork;
  kind.source = "a plan: communicators whose times are those of rings over the channels";
  std::vector<Device> devices(cluster.devices().begin(), cluster.devices().end());
  devices.push_back({.name = kNetwork, .kind = static_cast<int>(kinds.size()), .slots = slots});
  kinds.push_back(std::move(kind));
  std::vector<Channel> channels(cluster.channels().begin(), cluster.channels().end());
  const int count = cluster.num_devices();
  std::vector<std::vector<int>> routes((count + 1) * (count + 1));
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      const auto route = cluster.route(from, to);
      routes[from * (count + 1) + to].assign(route.begin(), route.end());
    }
    const std::string& name = cluster.device(from).name;
    for (const bool towards : {true, false}) {
      const int route = towards ? from * (count + 1) + count : count * (count + 1) + from;
      routes[route] = {static_cast<int>(channels.size())};
      channels.push_back({.name = towards ? name + "->network" : "network->" + name,
                          .bandwidth = {.bytes = 1'000'000'000'000'000}});
    }
  }
  return std::make_shared<Cluster>(
      cluster.name(), std::move(kinds), std::move(devices), std::move(channels), std::move(routes));
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

/// Returns the step in which the ops of a group have one label.
PlannedGraph Labelled(const PlannedGraph& step, const Grouping& together) {
  std::vector<Tensor> tensors(step.graph.tensors().begin(), step.graph.tensors().end());
  std::vector<Op> ops(step.graph.ops().begin(), step.graph.ops().end());
  for (std::size_t op = 0; op < ops.size(); ++op) {
    const auto members = together.members(together.group_of(step.ops[op].op));
    if (members.size() > 1)
      ops[op].colocate = fmt::format("group {}", together.group_of(step.ops[op].op));
  }
  return {GraphLike(step.graph, std::move(tensors), std::move(ops)), step.ops};
}

}  // namespace

Nanos RingAllReduce(const Cluster& cluster, std::span<const int> members, std::int64_t bytes) {
  const auto count = static_cast<std::int64_t>(members.size());
  if (count < 2) return 0;
  const std::int64_t chunk = (bytes + count - 1) / count;
  Nanos slowest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const int from = members[i], to = members[(i + 1) % count];
    const auto route = cluster.route(from, to);
    if (route.empty()) {
      throw InputError(fmt::format("cluster \"{}\": no route from {} to {}, for an all-reduce",
                                   cluster.name(),
                                   cluster.device(from).name,
                                   cluster.device(to).name));
    }
    Nanos time = 0;
    for (int channel : route) {
      time += cluster.channel(channel).latency + WireTime(chunk, cluster.channel(channel));
    }
    slowest = std::max(slowest, time);
  }
  return 2 * (count - 1) * slowest;
}

PlannedStep ApplyPlan(const Graph& step,
                      const Cluster& cluster,
                      const Plan& plan,
                      const Grouping& together,
                      Copies copies) {
  const std::vector<std::vector<int>> groups = DeviceGroups(plan, cluster);
  const std::int64_t most_bytes = BucketBytes(plan);
  RequireChoice("collectives", plan.collectives, {"network", "tree"});
  RequireChoice("states", plan.states, {"replicated", "zero1"});
  const bool sharded = plan.states == "zero1";
  if (sharded && plan.collectives != "network") {
    throw SettingError("states", "zero1 needs collectives: network");
  }
  PlannedGraph planned = Recompute(step, plan.recompute);
  planned = CopyMicroBatches(Labelled(planned, together), plan.micro_batches);

  std::vector<std::vector<std::string>> names;
  std::size_t largest = 0;
  for (const std::vector<int>& group : groups) {
    std::vector<std::string>& of = names.emplace_back();
    for (int device : group) of.push_back(cluster.device(device).name);
    largest = std::max(largest, group.size());
  }
  if (plan.collectives == "tree") {
    return {ReplicateByTree(planned, names), std::make_shared<const Cluster>(cluster)};
  }
  std::vector<Bucket> buckets;
  std::vector<std::vector<std::pair<std::string, double>>> cost_ns;
  auto planned_cluster = copies == Copies::kFirst ? WithDevices(cluster, groups.front())
                                                  : std::make_shared<const Cluster>(cluster);
  if (groups.size() > 1) {
    std::vector<int> place(planned.graph.num_ops(), 0);
    std::map<std::string, int> first;  // op of a label
    for (int op = 0; op < planned.graph.num_ops() && largest > 1; ++op) {
      const std::string& label = planned.graph.op(op).colocate;
      place[op] = label.empty() ? op : first.emplace(label, op).first->second;
    }
    buckets = GradientBuckets(planned.graph, Grouping(place), most_bytes);
    if (NetworkDevice(cluster) < 0) {
      planned_cluster = WithNetwork(*planned_cluster, static_cast<int>(largest));
      for (const Bucket& bucket : buckets) {
        Nanos slowest = 0;
        for (std::size_t position = 0; position < largest; ++position) {
          std::vector<int> members;
          for (const std::vector<int>& group : groups) {
            members.push_back(group[std::min(position, group.size() - 1)]);
          }
          std::ranges::sort(members);
          members.erase(std::unique(members.begin(), members.end()), members.end());
          slowest = std::max(slowest, RingAllReduce(cluster, members, bucket.bytes));
        }
        cost_ns.push_back({{kNetwork, static_cast<double>(slowest)}});
      }
    }
  }
  planned = Replicate(planned, names, buckets, cost_ns, copies);
  if (sharded && groups.size() > 1) planned = ShardUpdate(planned, plan.replicas);
  return {std::move(planned), std::move(planned_cluster)};
}

std::vector<DeviceIndex> PlannedPlacement(const PlannedStep& step,
                                          std::span<const std::vector<DeviceIndex>> device_of_op) {
  std::vector<DeviceIndex> devices;
  for (const PlannedOp& op : step.planned.ops) {
    devices.push_back(op.role == PlannedRole::kCollective
                          ? static_cast<DeviceIndex>(NetworkDevice(*step.cluster))
                          : device_of_op[op.replica][op.op]);
  }
  return devices;
}

}  // namespace emplace
