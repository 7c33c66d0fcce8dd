#include "experiments/plan/plan_bound.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "framework/cost/cost_model.h"
#include "framework/plan/one_replica.h"

namespace emplace {
namespace {

// A dependency of the planned step, with the time of an all-reduce in between.
struct Wait {
  int from, to;
  Nanos delay;
};

// Returns the times of all-reduces of gradients by their bytes; none if more bytes may take less
// time. Those over the cluster's channels never do (collective_time.h), so that an all-reduce of a
// bucket takes at least as long as that of one of its gradients.
std::map<std::int64_t, Nanos> ReduceTimes(const PlanSetting& setting,
                                          const Graph& graph,
                                          const Plan& plan) {
  std::map<std::int64_t, Nanos> times;
  if (plan.replicas == 1 || HasNetwork(*setting.cluster)) return times;
  std::vector<std::int64_t> bytes;
  for (int t = 0; t < graph.num_tensors(); ++t) {
    for (int reader : graph.readers(t)) {
      if (graph.op(reader).phase == Phase::kUpdate) times[graph.tensor(t).bytes] = 0;
    }
  }
  for (const auto& [each, time] : times) bytes.push_back(each);
  const std::vector<Nanos> found = AllReduceTimes(setting, plan, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) times[bytes[i]] = found[i];
  return times;
}

// Returns the dependencies in topological order of the later ops.
std::vector<Wait> WaitsOf(const Graph& graph, const std::map<std::int64_t, Nanos>& reduce) {
  std::vector<Wait> waits;
  for (int op : graph.topological_order()) {
    for (int before : graph.predecessors(op)) waits.push_back({before, op, 0});
    if (graph.op(op).phase != Phase::kUpdate) continue;
    for (int t : graph.reads(op)) {
      const int producer = graph.tensor(t).producer;
      const bool gradient = producer >= 0 && graph.op(producer).phase != Phase::kUpdate &&
                            !graph.op(producer).IsStorage();
      const auto time = reduce.find(graph.tensor(t).bytes);
      if (gradient && time != reduce.end()) waits.push_back({producer, op, time->second});
    }
  }
  return waits;
}

// The longest ways to the start and from the finish of each op, on the devices of a group.
struct Ways {
  std::vector<Nanos> head, tail;  // [planned ops] [ns]
  Nanos longest = 0;              // [ns]
};

Ways WaysOf(const PlanSetting& setting,
            const LayerCosts& costs,
            const std::vector<Wait>& waits,
            const std::vector<int>& group) {
  const int num_ops = costs.planned.graph.num_ops();
  Ways ways{.head = std::vector<Nanos>(num_ops), .tail = std::vector<Nanos>(num_ops)};
  std::vector<Nanos> least(num_ops);
  for (int op = 0; op < num_ops; ++op) {
    if (costs.planned.ops[op].role == PlannedRole::kAccumulate) continue;
    // A plan places an op on a device with stages if it may run on one.
    std::array<Nanos, 2> of{kMaxNanos, kMaxNanos};
    for (int d : group) {
      Nanos& cost = of[HasStages(*setting.cluster, d) ? 0 : 1];
      cost = std::min(cost, costs.times.at(op, d));
    }
    const Nanos cost = of[0] < kMaxNanos ? of[0] : of[1];
    if (cost < kMaxNanos) least[op] = cost;
  }
  for (const auto& [from, to, delay] : waits) {
    ways.head[to] = std::max(ways.head[to], ways.head[from] + least[from] + delay);
  }
  for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) {
    const auto& [from, to, delay] = *wait;
    ways.tail[from] = std::max(ways.tail[from], delay + least[to] + ways.tail[to]);
  }
  for (int op = 0; op < num_ops; ++op) {
    ways.longest = std::max(ways.longest, ways.head[op] + least[op] + ways.tail[op]);
  }
  return ways;
}

// Returns the jobs of the layers, each on the device where it costs least. [layers]
std::vector<std::vector<Job>> JobsOf(const LayerCosts& costs,
                                     const Ways& ways,
                                     const std::vector<int>& devices,
                                     int micro_batches) {
  std::vector<std::map<std::pair<Nanos, Nanos>, Nanos>> times(
      costs.num_layers);  // by head and tail
  const Nanos unit = std::max<Nanos>(1, ways.longest / 1024);
  for (int op = 0; op < costs.planned.graph.num_ops(); ++op) {
    Nanos cost = kMaxNanos;
    for (int d : devices) cost = std::min(cost, costs.times.at(op, d));
    if (cost == kMaxNanos) continue;
    const Nanos head = ways.head[op] / unit * unit, tail = ways.tail[op] / unit * unit;
    times[costs.layer_of_op[op]][{head, tail}] += cost * costs.Executions(op, micro_batches);
  }
  std::vector<std::vector<Job>> jobs(costs.num_layers);
  for (int l = 0; l < costs.num_layers; ++l) {
    for (const auto& [way, time] : times[l]) {
      if (time > 0) jobs[l].push_back({way.first, time, way.second});
    }
  }
  return jobs;
}

}  // namespace

PlanBounds::PlanBounds(const PlanSetting& setting,
                       const LayerCosts& costs,
                       const Plan& plan,
                       const std::vector<std::vector<int>>& groups)
    : setting_(setting), costs_(costs), micro_batches_(plan.micro_batches) {
  const Cluster& cluster = *setting.cluster;
  const bool period = setting.objective == Objective::kPeriod;
  const Graph& graph = costs.planned.graph;
  const std::vector<Wait> waits = WaitsOf(graph, ReduceTimes(setting, graph, plan));
  const std::vector<int> alike = DevicesOfEqualCosts(costs.times);
  using Kind = std::tuple<bool, int, std::int64_t, int>;
  std::set<std::vector<Kind>> known;  // groups of equal devices have equal bounds
  for (const std::vector<int>& group : groups) {
    std::vector<Kind> kinds;
    std::map<Kind, std::vector<int>> of_kind;
    for (int d : group) {
      const Device& device = cluster.device(d);
      kinds.emplace_back(HasStages(cluster, d), alike[d], device.memory, device.slots);
      if (HasStages(cluster, d)) of_kind[kinds.back()].push_back(d);
    }
    std::ranges::sort(kinds);
    if (!known.insert(kinds).second) continue;
    Ways ways = WaysOf(setting, costs, waits, group);
    if (period) {
      ways = {.head = std::vector<Nanos>(graph.num_ops()),
              .tail = std::vector<Nanos>(graph.num_ops())};
    }
    Group& to = groups_.emplace_back();
    to.longest = ways.longest;
    std::vector<int> first;  // of each class
    for (const auto& [kind, devices] : of_kind) {
      first.push_back(devices[0]);
      to.slots.insert(to.slots.end(), devices.size(), std::get<3>(kind));
    }
    std::ranges::sort(to.slots, std::greater<>());
    for (const std::vector<Job>& jobs : JobsOf(costs, ways, first, micro_batches_)) {
      to.jobs.insert(to.jobs.end(), jobs.begin(), jobs.end());
    }
    for (auto& [kind, devices] : of_kind) {
      EqualDevices& on = to.classes.emplace_back();
      on.slots = period ? 1 : std::get<3>(kind);
      on.jobs = JobsOf(costs, ways, {devices[0]}, micro_batches_);
      on.known.assign(std::size_t(costs.num_layers) * (costs.num_layers + 1), -1);
      on.devices = std::move(devices);
    }
  }
}

Nanos PlanBounds::StageBound(EqualDevices& on, int begin, int end) {
  Nanos& known = on.known[std::size_t(end) * on.jobs.size() + begin];
  if (known >= 0) return known;
  std::vector<Job> jobs;
  for (int l = begin; l < end; ++l) jobs.insert(jobs.end(), on.jobs[l].begin(), on.jobs[l].end());
  return known = OneMachineBound(jobs, on.slots);
}

std::vector<Nanos> PlanBounds::WithStages(Schedule schedule) {
  std::vector<Nanos> bounds(costs_.num_layers);
  for (Group& group : groups_) {
    std::vector<std::vector<int>> classes;
    std::vector<int> class_of(costs_.num_devices);
    for (EqualDevices& on : group.classes) {
      for (int d : on.devices) class_of[d] = static_cast<int>(classes.size());
      classes.push_back(on.devices);
    }
    const bool merged = TooManyClasses(classes);
    for (std::size_t k = 1; merged && k < classes.size(); ++k) {
      classes[0].insert(classes[0].end(), classes[k].begin(), classes[k].end());
    }
    if (merged) classes.resize(1);
    const auto time = [&](StageChoice stage) {
      const int in_flight = InFlight(micro_batches_, stage.following, schedule);
      Nanos least = kMaxNanos;
      for (std::size_t k = 0; k < group.classes.size(); ++k) {
        // Merged devices are as good as the best one.
        if (!merged && static_cast<int>(k) != class_of[stage.device]) continue;
        stage.device = group.classes[k].devices[0];
        if (!costs_.CanFit(stage, *setting_.cluster, in_flight)) continue;
        least = std::min(least, StageBound(group.classes[k], stage.begin, stage.end));
      }
      return least;
    };
    const std::vector<BalancedStages> balanced = BalanceStages(costs_.num_layers, classes, time);
    bounds.resize(std::min(bounds.size(), balanced.size()));
    for (std::size_t s = 0; s < bounds.size(); ++s) {
      bounds[s] = std::max({bounds[s], balanced[s].slowest, group.longest});
    }
  }
  return bounds;
}

Nanos PlanBounds::Interleaved(int num_devices) const {
  Nanos bound = 0;
  for (const Group& group : groups_) {
    std::vector<Job> jobs = group.jobs;
    const auto end = group.slots.begin() + num_devices;
    const int slots = std::accumulate(group.slots.begin(), end, 0);
    bound = std::max({bound, group.longest, OneMachineBound(jobs, slots)});
  }
  return bound;
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

}  // namespace emplace
