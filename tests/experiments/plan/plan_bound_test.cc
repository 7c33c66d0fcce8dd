#include "experiments/plan/plan_bound.h"

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "tests/experiments/plan/two_kinds.h"
#include "tests/framework/plan/random_steps.h"
#include "tests/framework/plan/training_steps.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// Returns a random step with costs on kind "slow".
std::shared_ptr<const Graph> Step(Rng& rng) {
  const Graph step = RandomStep(rng).Make();
  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  for (Op& op : ops) {
    const double cost = op.cost_ns[0].second;
    op.cost_ns.emplace_back("slow", cost == 0 ? 0 : cost + UniformInt(rng, 10));
  }
  return std::make_shared<const Graph>("step", std::move(tensors), std::move(ops));
}

TEST_CASE("no stages of a random step take less time than the bound") {
  Rng rng(11);
  int tight = 0, fit = 0, excluded = 0;
  for (int round = 0; round < 120; ++round) {
    CAPTURE(round);
    PlanSetting setting;
    setting.step = Step(rng);
    const int slow = UniformInt(rng, 3);
    const std::int64_t memory =
        UniformInt(rng, 2) == 0 ? kUnlimitedMemory : 60 + UniformInt(rng, 400);
    setting.cluster = Gpus(4, 4 - slow, memory, UniformInt(rng, 4));
    setting.semantics = round % 3 == 0 ? Semantics::kQueue : Semantics::kStream;
    setting.objective = round % 5 == 0 ? Objective::kPeriod : Objective::kStepTime;
    const std::vector<double> weight(setting.step->num_ops(), 1);
    const ModelLayers layers = FindLayers(*setting.step, "", weight);
    Plan plan;
    plan.replicas = 1 + UniformInt(rng, 2);
    plan.micro_batches = 1 + UniformInt(rng, 4);
    if (UniformInt(rng, 3) == 0) plan.recompute = layers.RecomputeAll();
    const auto groups = DeviceGroups(plan, *setting.cluster);
    const LayerCosts costs = SumLayers(setting, layers, plan.recompute, true);
    PlanBounds plan_bounds(setting, costs, plan, groups);
    for (const Schedule schedule : {Schedule::k1F1B, Schedule::kGpipe}) {
      const std::vector<Nanos> bounds = plan_bounds.WithStages(schedule);
      REQUIRE(std::ssize(bounds) ==
              std::min<std::ptrdiff_t>(layers.num_layers(), groups[0].size()));
      for (std::size_t s = 0; s < bounds.size(); ++s) {
        CAPTURE(s);
        const int count = static_cast<int>(s) + 1;
        std::vector<std::vector<Stages>> of_replica;
        for (const std::vector<int>& group : groups) {
          of_replica.push_back(AllStages(layers.num_layers(), group, count, {0, 1, 2, 3}, 1000));
        }
        Nanos least = kMaxNanos;
        const std::size_t stride = 1 + of_replica[0].size() / 16;
        for (std::size_t i = 0; i < of_replica[0].size(); i += stride) {
          ReplicaDevices devices;
          for (const std::vector<Stages>& all : of_replica) {
            const Stages& stages = all[(i * 7 + devices.size()) % all.size()];
            std::vector<DeviceIndex>& of_op = devices.emplace_back();
            for (int layer : layers.layer_of_op) {
              std::size_t stage = 0;
              while (stages.end[stage] <= layer) ++stage;
              of_op.push_back(static_cast<DeviceIndex>(stages.device[stage]));
            }
          }
          const Outcome outcome =
              SimulatePlaced(setting, PlacePlan(setting, plan, devices, schedule));
          if (!outcome.feasible) continue;
          CHECK(outcome.step_time >= bounds[s]);
          least = std::min(least, outcome.step_time);
          ++fit;
        }
        tight += least == bounds[s];
        excluded += bounds[s] == kMaxNanos;
      }
    }
  }
  CHECK(fit > 1000);
  CHECK(tight > 100);
  CHECK(excluded > 10);
}

TEST_CASE("two equal stages: the bound is the pipeline's time") {
  // Layers of 3 + 5 ns and an update of 2 ns, M micro-batches, sums of 0 ns. Two stages: the second
  // begins after 3, and 5 + 2 remain after its 8 M. One stage: 16 M + 4. The period: 8 M + 2.
  PlanSetting setting;
  setting.step = std::make_shared<const Graph>(ChainStep({.layers = 2}));
  setting.cluster = std::make_shared<const Cluster>(EqualGpus(2));
  const ModelLayers layers = FindLayers(*setting.step, "f*", std::vector<double>(8, 1));
  for (const int micro_batches : {1, 2, 5}) {
    Plan plan;
    plan.micro_batches = micro_batches;
    const auto groups = DeviceGroups(plan, *setting.cluster);
    const LayerCosts costs = SumLayers(setting, layers, {}, true);
    CHECK(PlanBounds(setting, costs, plan, groups).WithStages(Schedule::k1F1B) ==
          std::vector<Nanos>{16 * micro_batches + 4, 3 + 8 * micro_batches + 5 + 2});
    PlanSetting period = setting;
    period.objective = Objective::kPeriod;
    CHECK(PlanBounds(period, costs, plan, groups).WithStages(Schedule::k1F1B) ==
          std::vector<Nanos>{16 * micro_batches + 4, 8 * micro_batches + 2});
  }
}

TEST_CASE("activations in flight exclude stages") {
  // Weights of 40 B. The last layer alone reads its activation of 100 B again, in its backward
  // pass. With 4 micro-batches, the last stage holds one of them with 1F1B, 140 B, and all with
  // GPipe, 440 B. The first stage holds none for itself.
  PlanSetting setting;
  setting.step =
      std::make_shared<const Graph>(ChainStep({.layers = 2, .weights = 40, .activation = 100}));
  setting.cluster = Gpus(2, 2, 300, 0);
  const ModelLayers layers = FindLayers(*setting.step, "f*", std::vector<double>(8, 1));
  Plan plan;
  plan.micro_batches = 4;
  const LayerCosts costs = SumLayers(setting, layers, {}, true);
  CHECK(costs.held == std::vector<std::int64_t>{0, 100});
  PlanBounds bounds(setting, costs, plan, DeviceGroups(plan, *setting.cluster));
  CHECK(bounds.WithStages(Schedule::k1F1B)[1] == 3 + 8 * 4 + 5 + 2);
  CHECK(bounds.WithStages(Schedule::kGpipe)[1] == kMaxNanos);
}

}  // namespace
