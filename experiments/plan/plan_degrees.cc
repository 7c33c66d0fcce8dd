#include "experiments/plan/plan_degrees.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/plan/plan_bound.h"
#include "experiments/plan/plan_divisions.h"
#include "framework/base/error.h"
#include "framework/cost/cost_model.h"
#include "framework/plan/one_replica.h"

namespace emplace {
namespace {

constexpr std::int64_t kReduceBytes = 25'000'000;
constexpr int kMostVirtualStages = 4;  // of a device

// Returns the divisions of the devices for all numbers of replicas that some graph divides.
std::vector<Division> DivisionsOf(const std::vector<PlanGraph>& graphs,
                                  const std::vector<GraphFacts>& facts,
                                  int batch) {
  const PlanSetting& setting = graphs[0].setting;
  const Cluster& cluster = *setting.cluster;
  // In a period, all replicas send control edges to the cluster's network device.
  const bool apart = setting.objective == Objective::kPeriod && HasNetwork(cluster);
  std::vector<Division> divisions;
  const int count = static_cast<int>(StageDevices(cluster).size());
  for (int replicas = 1; replicas <= count; ++replicas) {
    const bool divides = std::ranges::any_of(
        graphs, [&](const PlanGraph& graph) { return batch % (replicas * graph.size) == 0; });
    if (count % replicas != 0 || !divides) continue;
    for (Plan& plan : PlansOfReplicas(cluster, replicas)) {
      Division division;
      division.groups = DeviceGroups(plan, cluster);
      division.plan = std::move(plan);
      for (const GraphFacts& of : facts) {
        division.alike.push_back(!apart && ReplicasAreAlike(cluster, division.groups, of.alike));
      }
      for (const std::vector<int>& group : division.groups) {
        std::vector<int>& stages = division.stage_devices.emplace_back();
        std::ranges::copy_if(
            group, std::back_inserter(stages), [&](int d) { return HasStages(cluster, d); });
      }
      divisions.push_back(std::move(division));
    }
  }
  return divisions;
}

std::vector<std::vector<int>> ClassesOf(const Cluster& cluster,
                                        const std::vector<int>& alike,
                                        const std::vector<int>& devices) {
  std::map<std::pair<int, std::int64_t>, std::vector<int>> classes;
  for (int d : devices) classes[{alike[d], cluster.device(d).memory}].push_back(d);
  std::vector<std::vector<int>> result;
  for (auto& [key, members] : classes) result.push_back(std::move(members));
  return TooManyClasses(result) ? std::vector<std::vector<int>>{devices} : result;
}

// Descends to a local optimum of the estimate, in at most ten rounds.
void ImproveEstimate(const PlanDegrees& all, const PlanSetting& setting, Degrees& degrees) {
  FoundPlan& best = degrees.best;
  best.estimate = EstimateOf(all, degrees, setting, best.stages);
  for (int round = 0; round < 10; ++round) {
    const std::vector<Stages> base = best.stages;
    for (std::vector<Stages>& stages : NeighborsOf(all, degrees, base)) {
      const Estimate estimate = EstimateOf(all, degrees, setting, stages);
      if (estimate >= best.estimate) continue;
      best.estimate = estimate;
      best.stages = std::move(stages);
    }
    if (best.stages == base) break;
  }
  degrees.start = best.stages;
  best.step_time = best.estimate.time;
  best.deficit = best.estimate.deficit;
}

// Adds the degrees of a graph and a division with each number of stages and each schedule.
void AddDegrees(const PlanGraph& graph,
                const FoundPlan& plan,
                int number,
                bool interleaved,
                PlanDegrees& all) {
  const PlanSetting& setting = graph.setting;
  const Division& division = all.divisions[number];
  const GraphFacts& facts = all.facts[plan.graph];
  const LayerCosts& costs = *facts.costs[plan.recompute];
  PlanBounds plan_bounds(setting, costs, plan.plan, division.groups);
  Degrees degrees{.best = plan, .start = {}, .division = number};
  degrees.reduce_ns_per_byte =
      static_cast<double>(AllReduceTimes(setting, division.plan, {kReduceBytes})[0]) /
      static_cast<double>(kReduceBytes);
  const bool has_schedule =
      plan.plan.micro_batches > 1 && setting.objective == Objective::kStepTime;
  const std::size_t replicas = division.alike[plan.graph] ? 1 : division.groups.size();
  const auto add = [&] {
    ++all.num_degrees;
    if (std::ranges::any_of(degrees.best.stages, &std::vector<int>::empty, &Stages::end)) {
      ++all.num_too_large;
      return;
    }
    Degrees added = degrees;
    ImproveEstimate(all, setting, added);
    if (added.best.virtual_stages > 1 && added.best.deficit > 0) {
      ++all.num_too_large;
      return;
    }
    all.bound = std::min(all.bound, added.best.bound);
    all.degrees.push_back(std::move(added));
  };
  for (const Schedule schedule : {Schedule::k1F1B, Schedule::kGpipe}) {
    if (schedule == Schedule::kGpipe && !has_schedule) continue;
    degrees.best.schedule = schedule;
    const std::vector<Nanos> bounds = plan_bounds.WithStages(schedule);
    std::vector<std::vector<BalancedStages>> balanced;  // [replicas][number of stages]
    for (std::size_t r = 0; r < replicas; ++r) {
      balanced.push_back(
          BalanceLayers(costs,
                        *setting.cluster,
                        ClassesOf(*setting.cluster, facts.alike, division.stage_devices[r]),
                        plan.plan.micro_batches,
                        schedule));
    }
    // With one stage, GPipe takes the same time and more memory.
    for (std::size_t s = schedule == Schedule::kGpipe ? 1 : 0; s < bounds.size(); ++s) {
      degrees.best.num_stages = static_cast<int>(s) + 1;
      degrees.best.bound = bounds[s];
      degrees.best.stages.clear();
      for (const auto& of_replica : balanced) degrees.best.stages.push_back(of_replica[s].stages);
      add();
    }
  }
  degrees.best.schedule = Schedule::kInterleaved;
  const int most =
      interleaved && has_schedule ? static_cast<int>(division.stage_devices[0].size()) : 0;
  for (int stages = 2; stages <= most; ++stages) {
    if (plan.plan.micro_batches % stages != 0) continue;
    degrees.best.num_stages = stages;
    degrees.best.bound = plan_bounds.Interleaved(stages);
    for (int v = 2; v <= kMostVirtualStages && v * stages <= costs.num_layers; ++v) {
      degrees.best.virtual_stages = v;
      degrees.best.stages.clear();
      for (std::size_t r = 0; r < replicas; ++r) {
        degrees.best.stages.push_back(
            EvenStages(costs.num_layers, division.stage_devices[r], stages, v));
      }
      add();
    }
  }
}

}  // namespace

GraphFacts FactsOf(const PlanGraph& graph, const PlanSearchOptions& options) {
  const PlanSetting& setting = graph.setting;
  const Cluster& cluster = *setting.cluster;
  const Costs costs =
      ComputeCosts(*setting.step,
                   cluster,
                   setting.where,
                   {.table = setting.table.get(), .apart = CountsNeighbors(setting.semantics)});
  GraphFacts facts;
  facts.alike = DevicesOfEqualCosts(costs);
  for (int d = 0; d < costs.num_devices; ++d) {
    int first = 0;  // being interchangeable is transitive
    while (first < d &&
           !(facts.exchange[first] == first && Interchangeable(cluster, facts.alike, first, d))) {
      ++first;
    }
    facts.exchange.push_back(first);
  }
  std::vector<double> weight;
  for (int op = 0; op < costs.num_ops; ++op) {
    std::uint64_t mask = 0;
    Nanos least = kMaxNanos;
    for (int d = 0; d < costs.num_devices; ++d) {
      if (costs.allowed(op, d)) mask |= std::uint64_t{1} << d;
      least = std::min(least, costs.at(op, d));
    }
    facts.allowed.push_back(mask);
    weight.push_back(least < kMaxNanos ? static_cast<double>(least) : 0);
  }
  facts.layers = FindLayers(*setting.step, options.layers, weight);
  std::vector<bool> has_forward(facts.layers.num_layers());
  for (int op = 0; op < costs.num_ops; ++op) {
    const Op& of_step = setting.step->op(op);
    if (of_step.phase == Phase::kForward && !of_step.IsStorage()) {
      has_forward[facts.layers.layer_of_op[op]] = true;
    }
    for (int d : StageDevices(cluster)) {
      if (!costs.allowed(op, d)) facts.can_interleave = false;
    }
  }
  if (std::ranges::find(has_forward, false) != has_forward.end()) facts.can_interleave = false;
  const std::vector<std::string> blocks = facts.layers.RecomputeAll();
  const bool several = options.batch > graph.size;
  facts.costs[0] = SumLayers(setting, facts.layers, {}, several);
  if (!blocks.empty()) facts.costs[1] = SumLayers(setting, facts.layers, blocks, several);
  return facts;
}

PlanDegrees FindDegrees(const std::vector<PlanGraph>& graphs, const PlanSearchOptions& options) {
  PlanDegrees all;
  for (const PlanGraph& graph : graphs) all.facts.push_back(FactsOf(graph, options));
  all.divisions = DivisionsOf(graphs, all.facts, options.batch);
  if (all.divisions.empty()) {
    std::vector<int> sizes;
    for (const PlanGraph& graph : graphs) sizes.push_back(graph.size);
    throw InputError(fmt::format("--batch: {} is no multiple of the micro-batches: {}",
                                 options.batch,
                                 fmt::join(sizes, ", ")));
  }
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    for (std::size_t i = 0; i < all.divisions.size(); ++i) {
      FoundPlan plan;
      plan.graph = static_cast<int>(g);
      plan.plan = all.divisions[i].plan;
      const int samples = plan.plan.replicas * graphs[g].size;
      if (options.batch % samples != 0) continue;
      plan.plan.micro_batches = options.batch / samples;
      const bool interleaved = options.interleaved && all.facts[g].can_interleave;
      AddDegrees(graphs[g], plan, static_cast<int>(i), interleaved, all);
      if (!all.facts[g].costs[1]) continue;
      plan.recompute = true;
      plan.plan.recompute = all.facts[g].layers.RecomputeAll();
      AddDegrees(graphs[g], plan, static_cast<int>(i), interleaved, all);
    }
  }
  return all;
}

Estimate EstimateOf(const PlanDegrees& all,
                    const Degrees& degrees,
                    const PlanSetting& setting,
                    const std::vector<Stages>& stages) {
  const FoundPlan& plan = degrees.best;
  Estimate sum;
  for (const Stages& each : stages) {
    const Estimate one = EstimatePlan(*all.facts[plan.graph].costs[plan.recompute],
                                      *setting.cluster,
                                      each,
                                      plan.plan.micro_batches,
                                      plan.schedule,
                                      degrees.reduce_ns_per_byte,
                                      setting.objective);
    sum.deficit += one.deficit;
    sum.time = std::max(sum.time, one.time);
  }
  return sum;
}

std::vector<std::vector<Stages>> NeighborsOf(const PlanDegrees& all,
                                             const Degrees& degrees,
                                             const std::vector<Stages>& stages) {
  const GraphFacts& facts = all.facts[degrees.best.graph];
  std::vector<std::vector<Stages>> neighbors;
  for (std::size_t r = 0; r < stages.size(); ++r) {
    for (Stages& neighbor : NeighborsOf(stages[r],
                                        facts.layers.num_layers(),
                                        all.DivisionOf(degrees).stage_devices[r],
                                        facts.exchange)) {
      neighbors.emplace_back(stages)[r] = std::move(neighbor);
    }
  }
  return neighbors;
}

}  // namespace emplace
