#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "framework/plan/apply_plan.h"
#include "framework/plan/micro_batches.h"
#include "framework/plan/one_replica.h"
#include "framework/plan/pipeline_order.h"
#include "framework/plan/recompute.h"
#include "tests/framework/plan/random_steps.h"
#include "tests/framework/plan/training_steps.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kRounds = 100 * EMPLACE_TEST_SCALE;

/// A random plan of a random step on equal GPUs, each label of the step on one device.
struct RandomPlan {
  explicit RandomPlan(Rng& rng, int most_devices = 3) : step(RandomStep(rng).Make()) {
    plan.replicas = 1 + UniformInt(rng, 3);
    plan.micro_batches = 1 + UniformInt(rng, 4);
    for (int layer = 0; layer < 4; ++layer) {
      const std::string pattern = fmt::format("layer{}/f*", layer);
      if (step.FindOp(fmt::format("layer{}/f0", layer)) >= 0 && UniformInt(rng, 2) == 0) {
        plan.recompute.push_back(pattern);
      }
    }
    plan.bucket = fmt::format("{}B", UniformInt(rng, 60));
    num_devices = 1 + UniformInt(rng, most_devices);
    const int first = UniformInt(rng, num_devices);  // of labels
    for (const Op& op : step.ops()) {
      device_of_op.push_back(op.colocate.empty() ? UniformInt(rng, num_devices) : first);
    }
  }

  void Apply() {
    const Cluster gpus = EqualGpus(plan.replicas * num_devices, 7);
    planned = ApplyPlan(step, gpus, plan, Grouping(device_of_op));
    std::vector<std::vector<DeviceIndex>> devices(plan.replicas);
    for (int r = 0; r < plan.replicas; ++r) {
      for (int d : device_of_op) {
        devices[r].push_back(static_cast<DeviceIndex>(r * num_devices + d));
      }
    }
    placed = PlannedPlacement(*planned, devices);
  }
  const Graph& graph() const { return planned->planned.graph; }
  const PlannedOp& origin(int op) const { return planned->planned.ops[op]; }

  Graph step;
  Plan plan;
  int num_devices = 1;
  std::vector<int> device_of_op;  // of the step's ops, in a replica
  std::optional<PlannedStep> planned;
  std::vector<DeviceIndex> placed;
};

void ForRandomPlans(const std::function<void(Rng&)>& check) {
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    Rng rng(round);
    check(rng);
  }
}

bool IsTopological(const Graph& graph, std::span<const int> order) {
  std::vector<int> position(graph.num_ops(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  for (int op = 0; op < graph.num_ops(); ++op) {
    if (position[op] < 0) return false;
    for (int before : graph.predecessors(op)) {
      if (position[before] >= position[op]) return false;
    }
  }
  return std::ssize(order) == graph.num_ops();
}

/// Ops that each op depends on, by a number of each op. [num_ops]
std::vector<std::set<int>> Ancestors(const Graph& graph,
                                     const std::function<int(int)>& number,
                                     bool by_control) {
  std::vector<std::set<int>> ancestors(graph.num_ops());
  for (int op : graph.topological_order()) {
    const auto add = [&](int before) {
      ancestors[op].insert(number(before));
      ancestors[op].insert(ancestors[before].begin(), ancestors[before].end());
    };
    for (int tensor : graph.reads(op)) {
      if (graph.tensor(tensor).producer >= 0) add(graph.tensor(tensor).producer);
    }
    for (int before : graph.op(op).control_inputs) {
      if (by_control) add(before);
    }
  }
  return ancestors;
}

TEST_CASE("work is that of all replicas and micro-batches, sums and recomputation") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng);
    random.Apply();
    const int replicas = random.plan.replicas, passes = replicas * random.plan.micro_batches;
    std::vector<int> copies(random.step.num_ops());
    double expected = 0, found = 0;
    for (const Op& op : random.step.ops()) {
      expected += op.flops * (op.phase == Phase::kUpdate ? replicas : passes);
    }
    for (int op = 0; op < random.graph().num_ops(); ++op) {
      const PlannedOp& origin = random.origin(op);
      found += random.graph().op(op).flops;
      if (origin.role == PlannedRole::kCopy) ++copies[origin.op];
      if (origin.role == PlannedRole::kRecompute) expected += random.step.op(origin.op).flops;
      if (origin.role != PlannedRole::kAccumulate) continue;
      const Tensor& sum = random.graph().tensor(random.graph().op(op).outputs[0]);
      expected += static_cast<double>(sum.shape[0]);
    }
    CHECK(found == expected);
    for (int op = 0; op < random.step.num_ops(); ++op) {
      const bool once =
          random.step.op(op).phase == Phase::kUpdate || random.step.op(op).IsStorage();
      CHECK(copies[op] == (once ? replicas : passes));
    }
  });
}

TEST_CASE("one replica and one micro-batch change neither step time nor memory") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng);
    random.plan.replicas = random.plan.micro_batches = 1;
    random.plan.recompute.clear();
    random.Apply();
    const Cluster gpus = EqualGpus(random.num_devices, 7);
    const std::vector<DeviceIndex> devices(random.device_of_op.begin(), random.device_of_op.end());
    for (const Semantics semantics : {Semantics::kQueue, Semantics::kStream}) {
      const Outcome alone = Simulated(random.step, gpus, devices, semantics);
      const Outcome planned =
          Simulated(random.graph(), *random.planned->cluster, random.placed, semantics);
      CHECK(alone.step_time == planned.step_time);
      for (int d = 0; d < random.num_devices; ++d) {
        CHECK(alone.devices[d].busy == planned.devices[d].busy);
        CHECK(alone.devices[d].peak == planned.devices[d].peak);
      }
    }
  });
}

TEST_CASE("recomputation keeps the dependencies of every op") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng);
    const PlannedGraph planned = Recompute(random.step, random.plan.recompute);
    const auto same = [](int op) { return op; };
    const auto origin = [&](int op) { return planned.ops[op].op; };
    for (const bool by_control : {false, true}) {
      const auto before = Ancestors(random.step, same, by_control);
      const auto after = Ancestors(planned.graph, origin, by_control);
      for (int op = 0; op < planned.graph.num_ops(); ++op) {
        const std::set<int>& old = before[planned.ops[op].op];
        // Copies wait for gradients by control inputs.
        CHECK(std::ranges::includes(after[op], old));
        if (!by_control) CHECK(after[op] == old);
      }
    }
    // Every alias of the step is one of a tensor that its op reads.
    for (const Tensor& tensor : planned.graph.tensors()) {
      if (tensor.alias_of < 0 || tensor.producer < 0) continue;
      CHECK(std::ranges::count(planned.graph.op(tensor.producer).inputs, tensor.alias_of) > 0);
    }
  });
}

TEST_CASE("micro-batches do not depend on one another; sums only on earlier ones") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng);
    const int count = random.plan.micro_batches;
    const PlannedGraph planned =
        CopyMicroBatches(Recompute(random.step, random.plan.recompute), count);
    const auto micro_batch = [&](int op) { return count == 1 ? 0 : planned.ops[op].micro_batch; };
    const auto ancestors = Ancestors(planned.graph, micro_batch, true);
    for (int op = 0; op < planned.graph.num_ops(); ++op) {
      const int own = planned.ops[op].micro_batch;
      if (count == 1 || own < 0) continue;
      for (int before : ancestors[op]) {
        const bool sum = planned.ops[op].role == PlannedRole::kAccumulate;
        CHECK((before == -1 || before == own || (sum && before < own)));
      }
    }
    // The update reads the gradients of all.
    const std::vector<int> order =
        PipelineOrder(planned, std::vector<int>(random.step.num_ops(), 0), 1, Schedule::kGpipe);
    CHECK(IsTopological(planned.graph, order));
    for (int op = 0; op < planned.graph.num_ops() && count > 1; ++op) {
      if (planned.graph.op(op).name[0] != 'u') continue;
      for (int m = 0; m < count; ++m) CHECK(ancestors[op].contains(m));
    }
  });
}

TEST_CASE("devices are busy for the sum of the costs of their ops") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng);
    random.Apply();
    const Cluster& cluster = *random.planned->cluster;
    const Costs costs = ComputeCosts(random.graph(), cluster);
    std::vector<Nanos> work(cluster.num_devices());
    for (int op = 0; op < random.graph().num_ops(); ++op) {
      REQUIRE(costs.allowed(op, random.placed[op]));
      work[random.placed[op]] += costs.at(op, random.placed[op]);
    }
    for (const Semantics semantics : {Semantics::kQueue, Semantics::kStream}) {
      const Outcome outcome = Simulated(random.graph(), cluster, random.placed, semantics);
      for (int d = 0; d < cluster.num_devices(); ++d) CHECK(outcome.devices[d].busy == work[d]);
    }
  });
}

TEST_CASE("one of several equal replicas takes the time and memory of all") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng);
    random.Apply();
    const Cluster gpus = EqualGpus(random.plan.replicas * random.num_devices, 7);
    const PlannedStep one =
        ApplyPlan(random.step, gpus, random.plan, Grouping(random.device_of_op), Copies::kFirst);
    const std::vector<std::vector<DeviceIndex>> devices = {
        {random.device_of_op.begin(), random.device_of_op.end()}};
    int stages = 0;
    const std::vector<int> stage_of_op = StagesOf(random.step, random.device_of_op, stages);
    const auto order = [&](const PlannedStep& planned) {
      return PipelineOrder(planned.planned, stage_of_op, stages, Schedule::k1F1B);
    };
    const Outcome all = Simulated(random.graph(),
                                  *random.planned->cluster,
                                  random.placed,
                                  Semantics::kStream,
                                  order(*random.planned));
    const Outcome first = Simulated(one.planned.graph,
                                    *one.cluster,
                                    PlannedPlacement(one, devices),
                                    Semantics::kStream,
                                    order(one));
    CHECK(first.step_time == all.step_time);
    for (int d = 0; d < random.plan.replicas * random.num_devices; ++d) {
      CHECK(first.devices[d % random.num_devices].busy == all.devices[d].busy);
      CHECK(first.devices[d % random.num_devices].peak == all.devices[d].peak);
    }
  });
}

TEST_CASE("one device works without idle time") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng, 1);
    random.plan.replicas = 1;
    random.Apply();
    for (const Schedule schedule : {Schedule::kGpipe, Schedule::k1F1B}) {
      const std::vector<int> order = PipelineOrder(
          random.planned->planned, std::vector<int>(random.step.num_ops(), 0), 1, schedule);
      const Outcome outcome = Simulated(
          random.graph(), *random.planned->cluster, random.placed, Semantics::kStream, order);
      CHECK(outcome.step_time == outcome.devices[0].busy);
    }
  });
}

TEST_CASE("orders are topological, and queue semantics keeps them on every device") {
  ForRandomPlans([](Rng& rng) {
    RandomPlan random(rng);
    random.Apply();
    int stages = 0;
    const std::vector<int> stage_of_op = StagesOf(random.step, random.device_of_op, stages);
    for (int stage : stage_of_op) CHECK((stage >= 0 && stage < stages));
    const std::vector<int> on(random.placed.begin(), random.placed.end());
    for (const Schedule schedule : {Schedule::kGpipe, Schedule::k1F1B}) {
      const std::vector<int> order =
          PipelineOrder(random.planned->planned, stage_of_op, stages, schedule);
      REQUIRE(IsTopological(random.graph(), order));
      const Graph ordered = InOrder(random.graph(), on, order);
      const Outcome outcome =
          Simulated(ordered, *random.planned->cluster, random.placed, Semantics::kQueue);
      std::vector<Nanos> free(random.planned->cluster->num_devices());
      for (int op : order) {
        if (ordered.op(op).IsStorage()) continue;
        CHECK(outcome.start[op] >= free[on[op]]);
        free[on[op]] = outcome.finish[op];
      }
    }
  });
}

}  // namespace
