#include "experiments/plan/plan_bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "framework/bounds/work_bound.h"
#include "framework/cost/cost_model.h"
#include "framework/plan/one_replica.h"

namespace emplace {
namespace {

// Returns a cluster of these devices without channels.
Cluster DevicesAlone(const Cluster& cluster, const std::vector<int>& devices) {
  std::vector<Device> alone;
  for (int d : devices) {
    alone.push_back(cluster.device(d));
    alone.back().neighbors = 0;
  }
  const std::size_t count = devices.size();
  return Cluster(cluster.name(),
                 {cluster.kinds().begin(), cluster.kinds().end()},
                 std::move(alone),
                 {},
                 std::vector<std::vector<int>>(count * count));
}

// Returns the devices of a group on which a plan may place an op: those with stages on which it may
// run, else the others.
// @param cost  [num_devices] of the op
std::vector<int> DevicesForOp(const Cluster& cluster,
                              const std::vector<int>& group,
                              const Nanos* cost) {
  std::vector<int> stages, others;
  for (int d : group) {
    if (cost[d] < kMaxNanos) (HasStages(cluster, d) ? stages : others).push_back(d);
  }
  return stages.empty() ? others : stages;
}

bool HasNetwork(const Cluster& cluster) {
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kNetwork) return true;
  }
  return false;
}

}  // namespace

PlanWork BoundPlanWork(const PlanSetting& setting,
                       const LayerCosts& costs,
                       const std::vector<std::vector<int>>& groups,
                       int micro_batches) {
  const Cluster& cluster = *setting.cluster;
  PlanWork work;
  std::set<std::vector<Nanos>> known;  // groups of equal costs have equal bounds
  for (const std::vector<int>& group : groups) {
    std::vector<Nanos> jobs;
    for (int d : group) work.slots = std::max(work.slots, cluster.device(d).slots);
    const auto num_stage_devices =
        std::ranges::count_if(group, [&](int d) { return HasStages(cluster, d); });
    Nanos least_sum = 0;
    for (std::size_t job = 0; job < costs.job_times.size(); ++job) {
      const LayerCosts::Times times = costs.job_times[job];
      const Nanos count = times == LayerCosts::Times::kOnce           ? 1
                          : times == LayerCosts::Times::kMicroBatches ? micro_batches
                                                                      : micro_batches - 1;
      const Nanos* cost = &costs.job_cost[job * costs.num_devices];
      const std::vector<int> choices = DevicesForOp(cluster, group, cost);
      Nanos least = kMaxNanos, most = 0;
      for (int d : choices) {
        least = std::min(least, cost[d]);
        most = std::max(most, cost[d]);
      }
      if (count == 0 || most == 0) continue;
      for (int d : group) {
        const bool chosen = std::ranges::find(choices, d) != choices.end();
        jobs.push_back(chosen ? cost[d] * count : kMaxNanos);
      }
      // Other ops need not be on one of the S devices of stages.
      const bool everywhere =
          std::ssize(choices) == num_stage_devices && HasStages(cluster, choices[0]);
      if (everywhere) least_sum += least * count;
    }
    work.least = std::max(work.least, least_sum);
    if (jobs.empty() || !known.insert(jobs).second) continue;
    work.time = std::max(work.time, BoundWork(DevicesAlone(cluster, group), jobs).time);
  }
  return work;
}

std::vector<Nanos> AllReduceTimes(const PlanSetting& setting,
                                  const Plan& plan,
                                  const std::vector<std::int64_t>& bytes) {
  std::vector<Nanos> times;
  if (plan.replicas < 2 || bytes.empty()) return std::vector<Nanos>(bytes.size());
  std::vector<Tensor> gradients;
  for (std::int64_t each : bytes) gradients.push_back({.dtype = "f32", .bytes = each});
  const PlannedStep step = ReduceAlone(*setting.cluster, plan, std::move(gradients));
  const Costs costs = ComputeCosts(
      step.planned.graph, *step.cluster, setting.where, {.table = setting.table.get()});
  for (int op = 0; op < step.planned.graph.num_ops(); ++op) {
    if (step.planned.ops[op].role != PlannedRole::kCollective) continue;
    Nanos least = kMaxNanos;
    for (int d = 0; d < costs.num_devices; ++d) least = std::min(least, costs.at(op, d));
    times.push_back(least);
  }
  return times;
}

Nanos BoundPlanPath(const PlanSetting& setting,
                    const Plan& plan,
                    const std::vector<std::vector<int>>& groups) {
  const Graph& step = *setting.step;
  const Costs costs =
      ComputeCosts(step,
                   *setting.cluster,
                   setting.where,
                   {.table = setting.table.get(), .apart = CountsNeighbors(setting.semantics)});
  // Only rings are known to take longer for more bytes, so that an all-reduce of a bucket takes at
  // least as long as that of one of its gradients.
  std::map<std::int64_t, Nanos> reduce;
  if (plan.replicas > 1 && !HasNetwork(*setting.cluster)) {
    std::vector<std::int64_t> bytes;
    for (int t = 0; t < step.num_tensors(); ++t) {
      for (int reader : step.readers(t)) {
        if (step.op(reader).phase == Phase::kUpdate) reduce[step.tensor(t).bytes] = 0;
      }
    }
    for (const auto& [each, time] : reduce) bytes.push_back(each);
    const std::vector<Nanos> times = AllReduceTimes(setting, plan, bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) reduce[bytes[i]] = times[i];
  }
  Nanos longest = 0;
  const std::vector<int> alike = DevicesOfEqualCosts(costs);
  std::map<std::vector<int>, bool> seen;
  for (const std::vector<int>& group : groups) {
    std::vector<int> kinds;
    for (int d : group) kinds.push_back(alike[d]);
    std::ranges::sort(kinds);
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    if (!seen.emplace(kinds, true).second) continue;
    std::vector<Nanos> finish(step.num_ops());
    for (int op : step.topological_order()) {
      Nanos ready = 0, cost = kMaxNanos;
      for (int before : step.predecessors(op)) ready = std::max(ready, finish[before]);
      if (step.op(op).phase == Phase::kUpdate) {
        for (int t : step.reads(op)) {
          const int producer = step.tensor(t).producer;
          if (producer < 0 || step.op(producer).phase == Phase::kUpdate ||
              step.op(producer).IsStorage())
            continue;
          const auto time = reduce.find(step.tensor(t).bytes);
          if (time != reduce.end()) ready = std::max(ready, finish[producer] + time->second);
        }
      }
      const Nanos* of_op = &costs.time[std::size_t(op) * costs.num_devices];
      for (int d : DevicesForOp(*setting.cluster, group, of_op)) cost = std::min(cost, of_op[d]);
      finish[op] = ready + (cost < kMaxNanos ? cost : 0);
      longest = std::max(longest, finish[op]);
    }
  }
  return longest;
}

}  // namespace emplace
