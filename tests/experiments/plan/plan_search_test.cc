// The search for plans, on steps that are small enough to try every plan.

#include "experiments/plan/plan_search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/plan/one_replica.h"
#include "tests/experiments/plan/two_kinds.h"
#include "tests/framework/plan/training_steps.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// A chain of layers "f0", "f1", ... of different costs; on kind "slow" everything takes twice as
/// long. @param samples  of a micro-batch: forward and backward ops take so many times as long
std::shared_ptr<const Graph> Chain(int layers, int samples) {
  const Graph step = ChainStep({.layers = layers,
                                .forward = 30,
                                .backward = 50,
                                .update = 20,
                                .weights = 40,
                                .activation = 16 * samples});
  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    double& cost = ops[i].cost_ns[0].second;
    if (ops[i].phase != Phase::kUpdate) cost *= samples;
    if (cost > 0) cost += 7 * static_cast<double>(ops[i].name.back() - '0');
    ops[i].cost_ns.emplace_back("slow", 2 * cost);
  }
  return std::make_shared<const Graph>("chain", std::move(tensors), std::move(ops));
}

std::vector<PlanGraph> GraphsOf(int layers,
                                const std::vector<int>& sizes,
                                const std::shared_ptr<const Cluster>& cluster,
                                Semantics semantics) {
  std::vector<PlanGraph> graphs;
  for (int size : sizes) {
    PlanGraph& graph = graphs.emplace_back();
    graph.size = size;
    graph.setting = {
        .step = Chain(layers, size), .cluster = cluster, .where = "chain", .semantics = semantics};
  }
  return graphs;
}

/// All stages of a replica: every boundary, every order of every choice of devices.
/// @param virtual_stages  of each device, in turn
std::vector<std::vector<DeviceIndex>> AllPlacements(const Graph& step,
                                                    int layers,
                                                    const std::vector<int>& devices,
                                                    int virtual_stages = 1) {
  std::vector<std::vector<DeviceIndex>> all;
  std::vector<int> order = devices;
  std::ranges::sort(order);
  do {
    for (int cuts = 0; cuts < 1 << (layers - 1); ++cuts) {
      std::vector<int> of_layer{0};
      for (int l = 1; l < layers; ++l) of_layer.push_back(of_layer.back() + (cuts >> (l - 1) & 1));
      const int stages = (of_layer.back() + 1) / virtual_stages;
      if ((of_layer.back() + 1) % virtual_stages != 0) continue;
      if (stages > static_cast<int>(order.size())) continue;
      std::vector<DeviceIndex> of_op;
      for (const Op& op : step.ops()) {
        of_op.push_back(static_cast<DeviceIndex>(order[of_layer[op.name.back() - '0'] % stages]));
      }
      all.push_back(std::move(of_op));
    }
  } while (std::ranges::next_permutation(order).found);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

int NumDevices(const std::vector<DeviceIndex>& of_op) {
  return static_cast<int>(std::set<DeviceIndex>(of_op.begin(), of_op.end()).size());
}

/// Returns all choices of stages for the replicas, with `v` virtual stages on each device.
std::vector<ReplicaDevices> AllChoices(const PlanGraph& graph,
                                       const std::vector<std::vector<int>>& groups,
                                       int layers,
                                       bool alike,
                                       int v) {
  std::vector<ReplicaDevices> choices(1);
  for (std::size_t r = 0; r < groups.size(); ++r) {
    std::vector<ReplicaDevices> longer;
    for (const ReplicaDevices& choice : choices) {
      if (alike && r > 0) {
        longer.push_back(choice);
        longer.back().push_back(MirrorDevices(graph.setting, groups, choice[0], "test")[r]);
        continue;
      }
      for (auto& stages : AllPlacements(*graph.setting.step, layers, groups[r], v)) {
        if (r > 0 && NumDevices(stages) != NumDevices(choice[0])) continue;
        longer.push_back(choice);
        longer.back().push_back(std::move(stages));
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

/// Returns the least step time of all plans that fit, each with all of its replicas simulated.
/// @param alike  the replicas have the same stages; else any stages of equally many devices
Nanos BestOfAll(const std::vector<PlanGraph>& graphs, int batch, int layers, bool alike) {
  Nanos best = kMaxNanos;
  const Cluster& cluster = *graphs[0].setting.cluster;
  for (const PlanGraph& graph : graphs) {
    for (int replicas = 1; replicas <= cluster.num_devices(); ++replicas) {
      if (cluster.num_devices() % replicas != 0 || batch % (replicas * graph.size) != 0) continue;
      Plan plan;
      plan.replicas = replicas;
      plan.micro_batches = batch / (replicas * graph.size);
      const auto groups = DeviceGroups(plan, cluster);
      const bool period = graph.setting.objective == Objective::kPeriod;
      for (int v = 1; v <= (period ? 1 : 4); ++v) {
        for (const ReplicaDevices& devices : AllChoices(graph, groups, layers, alike, v)) {
          if (v > 1 && (NumDevices(devices[0]) < 2 || plan.micro_batches % NumDevices(devices[0])))
            continue;
          using enum Schedule;
          for (const Schedule schedule :
               v == 1 ? std::vector{kGpipe, k1F1B} : std::vector{kInterleaved}) {
            for (const bool recompute : {false, true}) {
              plan.recompute.clear();
              for (int l = 0; l < layers && recompute; ++l) {
                plan.recompute.push_back("f" + std::to_string(l));
              }
              const Outcome outcome = SimulatePlaced(
                  graph.setting, PlacePlan(graph.setting, plan, devices, schedule, false, v));
              if (outcome.feasible) best = std::min(best, outcome.step_time);
            }
          }
        }
      }
    }
  }
  return best;
}

void CheckExhaustive(int layers,
                     const std::vector<int>& sizes,
                     int batch,
                     const std::shared_ptr<const Cluster>& cluster,
                     bool alike) {
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    const Semantics semantics = i == 1 ? Semantics::kQueue : Semantics::kStream;
    std::vector<PlanGraph> graphs = GraphsOf(layers, sizes, cluster, semantics);
    for (PlanGraph& graph : graphs) {
      if (i == 2) graph.setting.objective = Objective::kPeriod;
    }
    const PlanSearchResult result =
        SearchPlans(graphs, {.batch = batch, .seconds = 1e6, .layers = "f*"});
    CHECK(result.complete);
    const Nanos best = BestOfAll(graphs, batch, layers, alike);
    if (best == kMaxNanos) {
      CHECK((result.plans.empty() || result.plans[0].deficit > 0));
      continue;
    }
    REQUIRE(result.plans.size() > 0);
    CHECK(result.plans[0].step_time == best);
    CHECK(result.bound <= best);
    CHECK(result.bound > 0);
    for (const FoundPlan& plan : result.plans) CHECK(plan.bound <= plan.step_time);
  }
}

TEST_CASE("the best of all plans on equal devices") {
  CheckExhaustive(2, {1, 2}, 4, Gpus(2, 2), true);
  CheckExhaustive(4, {1}, 4, Gpus(2, 2), true);
  CheckExhaustive(3, {1, 2}, 8, Gpus(4, 4), true);
  CheckExhaustive(3, {1}, 3, Gpus(3, 3), true);
  CheckExhaustive(5, {1}, 6, Gpus(2, 2), true);
}

TEST_CASE("the best of all plans where memory is short") {
  // With 300 B, no plan fits on two devices.
  for (const std::int64_t memory : {300, 400, 500}) {
    CAPTURE(memory);
    CheckExhaustive(4, {1, 2}, 4, Gpus(2, 2, memory), true);
    CheckExhaustive(4, {1}, 8, Gpus(4, 4, memory), true);
  }
}

TEST_CASE("the best of all plans on devices of two kinds") {
  CheckExhaustive(3, {1}, 2, Gpus(2, 1), false);
  CheckExhaustive(3, {1}, 3, Gpus(3, 1), false);
  CheckExhaustive(5, {1}, 4, Gpus(2, 1), false);
}

TEST_CASE("devices of two kinds: replicas of each kind, or with equal shares of both") {
  const auto graphs = GraphsOf(3, {1}, Gpus(4, 2), Semantics::kStream);
  const PlanSearchResult result = SearchPlans(graphs, {.batch = 4, .seconds = 1e6, .layers = "f*"});
  // 2 replicas in their order [fast fast] [slow slow]: the fast ones wait. With shares of both:
  // 2 micro-batches of 1 on a fast and a slow device.
  REQUIRE(result.plans.size() > 0);
  CHECK(result.plans[0].step_time <= BestOfAll(graphs, 4, 3, false));
  const bool shares = std::ranges::any_of(result.plans, [](const FoundPlan& plan) {
    return plan.plan.replicas == 2 && plan.plan.groups.IsSequence() && plan.stages.size() == 1;
  });
  CHECK(shares);
}

// Four GPUs in two nodes, 4 B/ns within and 1 B/ns between them; two layers of 80 ns and 400 B of
// weights, two micro-batches of two replicas. With each replica in a node, the reductions between
// nodes take 2 (10 + 200) ns. With a stage in each node they take 2 (1 + 50), and an activation of
// 4 B 14 ns between nodes: about 3 * 80 + 2 * 14 + 102 + 20.
TEST_CASE("replicas with a stage in each node reduce their gradients within nodes") {
  const auto step = std::make_shared<const Graph>(
      ChainStep({.forward = 30, .backward = 50, .update = 20, .weights = 400, .activation = 4}));
  const auto cluster = std::make_shared<const Cluster>(GpusInNodes({0, 0, 1, 1}, false));
  const std::vector<PlanGraph> graphs = {
      {.setting = {.step = step, .cluster = cluster, .where = "chain"}, .size = 1}};
  const PlanSearchResult result = SearchPlans(graphs, {.batch = 4, .seconds = 1e6, .layers = "f*"});
  REQUIRE(result.plans.size() > 0);
  const FoundPlan& best = result.plans[0];
  CHECK(best.plan.replicas == 2);
  CHECK(DeviceGroups(best.plan, *cluster) == std::vector<std::vector<int>>{{0, 2}, {1, 3}});
  CHECK(std::abs(best.step_time - 390) < 30);
}

TEST_CASE("one replica stands for all of them") {
  for (const Semantics semantics : {Semantics::kStream, Semantics::kQueue}) {
    const PlanSetting setting = GraphsOf(3, {1}, Gpus(4, 4), semantics)[0].setting;
    for (const int replicas : {1, 2, 4}) {
      for (const char* bucket : {"0", "25MB"}) {
        CAPTURE(replicas);
        Plan plan;
        plan.replicas = replicas;
        plan.micro_batches = 3;
        plan.bucket = bucket;
        plan.recompute = {"f1"};
        const auto groups = DeviceGroups(plan, *setting.cluster);
        CHECK(ReplicasAreAlike(*setting.cluster, groups, std::vector<int>{0, 0, 0, 0}));
        CHECK(ReplicasAreAlike(*setting.cluster, groups, std::vector<int>{0, 0, 0, 3}) ==
              (replicas == 1));
        for (const Schedule schedule : {Schedule::kGpipe, Schedule::k1F1B}) {
          for (auto& stages : AllPlacements(*setting.step, 3, groups[0])) {
            const auto all = MirrorDevices(setting, groups, stages, "test");
            const Outcome whole = SimulatePlaced(setting, PlacePlan(setting, plan, all, schedule));
            const Outcome one =
                SimulatePlaced(setting, PlacePlan(setting, plan, {stages}, schedule, true));
            CHECK(one.step_time == whole.step_time);
            for (std::size_t i = 0; i < groups[0].size(); ++i) {
              for (const std::vector<int>& group : groups) {
                CHECK(one.devices[i].peak == whole.devices[group[i]].peak);
                CHECK(one.devices[i].busy == whole.devices[group[i]].busy);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("two equal layers, free links: the pipeline's formula, and data parallel beats it") {
  // Layers of 3 + 5 ns and an update of 2 ns, sums of 0 ns. One pipeline of 2 stages and 4
  // micro-batches: (4 + 1) * 8 + 2 = 42. One device for all: 4 * 16 + 4 = 68. Two replicas of 2
  // micro-batches each: 2 * 16 + 4 = 36; their all-reduces of 16 B take no time here.
  const auto step = std::make_shared<const Graph>(ChainStep({.layers = 2, .activation = 4}));
  const auto cluster =
      std::make_shared<const Cluster>(EqualGpus(2, 0, {1'000'000'000'000'000'000, 1}));
  const std::vector<PlanGraph> graphs = {
      {.setting = {.step = step, .cluster = cluster, .where = "chain"}, .size = 1}};
  const PlanSearchResult result = SearchPlans(graphs, {.batch = 4, .seconds = 1e6, .layers = "f*"});
  REQUIRE(result.usual.size() == 2);
  REQUIRE(result.usual[1].plan.has_value());
  // A message takes 1 ns, since times are rounded up: (4 + 1) * 8 + 2 messages + 2.
  CHECK(result.usual[1].plan->step_time - 42 <= 8);
  CHECK(result.usual[1].plan->step_time >= 42);
  REQUIRE(result.usual[0].plan.has_value());
  CHECK(result.usual[0].plan->step_time - 36 <= 8);
  CHECK(result.plans[0].step_time == result.usual[0].plan->step_time);
  CHECK(result.bound == 36);  // as the best plan would take without messages
}

TEST_CASE("four equal layers, free links: interleaved is the best pipeline") {
  // Layers of 3 + 5 ns without updates, 2 devices and 2 micro-batches: 1F1B takes (2 + 1) * 16 =
  // 48, and with two virtual stages on each device (2 * 2 + 1) * 8 = 40. The bound is the work of a
  // device, 2 * 16 = 32, which two replicas reach.
  const auto step = std::make_shared<const Graph>(
      ChainStep({.layers = 4, .update = 0, .weights = 0, .activation = 0}));
  const auto cluster = std::make_shared<const Cluster>(EqualGpus(2));
  const std::vector<PlanGraph> graphs = {
      {.setting = {.step = step, .cluster = cluster, .where = "chain"}, .size = 1}};
  PlanSearchOptions options{.batch = 2, .seconds = 1e6, .layers = "f*"};
  const auto pipeline = [&] {
    const PlanSearchResult result = SearchPlans(graphs, options);
    CHECK(result.bound == 32);
    return *std::ranges::find(result.plans, 2, &FoundPlan::num_stages);
  };
  const FoundPlan best = pipeline();
  CHECK(best.schedule == Schedule::kInterleaved);
  CHECK(best.virtual_stages == 2);
  CHECK(best.step_time == 40);
  CHECK(best.estimate.time == 40);
  CHECK(best.stages == std::vector<Stages>{{{1, 2, 3, 4}, {0, 1, 0, 1}}});
  options.interleaved = false;
  CHECK(pipeline().step_time == 48);
}

TEST_CASE("the period of two equal layers") {
  // As above. One pipeline: each stage does 4 * 8 + 2 in a step, sends 4 tensors of 1 ns and
  // receives 4: 42. Two replicas: 2 * 16 + 4 = 36. The bound is the work of a stage, 34.
  const auto step = std::make_shared<const Graph>(ChainStep({.layers = 2, .activation = 4}));
  const auto cluster =
      std::make_shared<const Cluster>(EqualGpus(2, 0, {1'000'000'000'000'000'000, 1}));
  PlanSetting setting{.step = step, .cluster = cluster, .where = "chain"};
  setting.objective = Objective::kPeriod;
  const PlanSearchResult result =
      SearchPlans({{.setting = setting, .size = 1}}, {.batch = 4, .seconds = 1e6, .layers = "f*"});
  CHECK(result.plans[0].step_time == 36);
  CHECK(result.plans[0].num_stages == 1);
  REQUIRE(result.usual[1].plan.has_value());
  CHECK(result.usual[1].plan->step_time == 42);
  CHECK(result.bound == 34);
}

}  // namespace
