#include "framework/plan/apply_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/plan/collective_time.h"
#include "framework/plan/micro_batches.h"
#include "framework/plan/plan_cluster.h"
#include "framework/plan/ranks.h"
#include "framework/plan/recompute.h"
#include "framework/plan/replicas.h"
#include "framework/plan/sharded_update.h"

namespace emplace {
namespace {

const std::string kNetwork = "network";  // the device that a plan adds, and its kind

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
    return AddRankCollectives(
        {ReplicateByTree(planned, names), std::make_shared<const Cluster>(cluster)});
  }
  std::vector<Bucket> buckets;
  std::vector<std::vector<std::pair<std::string, double>>> cost_ns;
  auto planned_cluster = copies == Copies::kFirst
                             ? WithDevices(cluster, groups.front(), cluster.name())
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
      planned_cluster =
          WithNetwork(*planned_cluster, kNetwork, kNetwork, static_cast<int>(largest));
      std::vector<CollectiveTimes> positions;
      for (std::size_t position = 0; position < largest; ++position) {
        std::vector<int> members;
        for (const std::vector<int>& group : groups) {
          members.push_back(group[std::min(position, group.size() - 1)]);
        }
        std::ranges::sort(members);
        members.erase(std::unique(members.begin(), members.end()), members.end());
        positions.emplace_back(cluster, std::move(members));
      }
      for (const Bucket& bucket : buckets) {
        Nanos slowest = 0;
        for (const CollectiveTimes& times : positions) {
          slowest = std::max(slowest, times.Least("all_reduce", bucket.bytes));
        }
        cost_ns.push_back({{kNetwork, static_cast<double>(slowest)}});
      }
    }
  }
  planned = Replicate(planned, names, buckets, cost_ns, copies);
  if (sharded && groups.size() > 1) planned = ShardUpdate(planned, plan.replicas);
  return AddRankCollectives({std::move(planned), std::move(planned_cluster)});
}

std::vector<DeviceIndex> PlannedPlacement(const PlannedStep& step,
                                          std::span<const std::vector<DeviceIndex>> device_of_op) {
  std::vector<DeviceIndex> devices;
  for (const PlannedOp& op : step.planned.ops) {
    if (op.role != PlannedRole::kCollective) {
      devices.push_back(device_of_op[op.replica][op.op]);
      continue;
    }
    devices.push_back(static_cast<DeviceIndex>(
        op.rank_group < 0 ? NetworkDevice(*step.cluster)
                          : step.cluster->FindDevice(RankDevice(op.rank_group))));
  }
  return devices;
}

}  // namespace emplace
