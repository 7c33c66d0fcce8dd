#include "framework/plan/apply_plan.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Plan PlanOf(const std::string& yaml) {
  return ReadFields<Plan>(ConfigNode::FromString(yaml, "p"));
}

// Two replicas of two layers on a device each, buckets of one gradient. Backward: b1 ends at 11,
// b0 at 16; the reduction of dw1 (8 bytes: 2 steps of 4 ns) begins at 11 and ends at 19, that of
// dw0 begins at 16, waits for the one slot and ends at 27. u1 runs from 19 to 21, u0 from 27 to 29.
TEST_CASE("data parallel: reductions overlap with the backward pass, updates follow") {
  const Graph step = ChainStep({});
  const PlannedStep planned = ApplyPlan(
      step, EqualGpus(2), PlanOf("{replicas: 2, bucket: 8B}"), Grouping::Identity(step.num_ops()));
  REQUIRE(planned.cluster->num_devices() == 3);
  CHECK(planned.cluster->device(2).name == "network");
  CHECK(planned.cluster->device(2).slots == 1);
  const std::vector<std::vector<DeviceIndex>> replicas = {
      std::vector<DeviceIndex>(step.num_ops(), 0), std::vector<DeviceIndex>(step.num_ops(), 1)};
  const std::vector<DeviceIndex> devices = PlannedPlacement(planned, replicas);
  for (const Semantics semantics : {Semantics::kQueue, Semantics::kStream}) {
    const Graph& graph = planned.planned.graph;
    const Outcome outcome = Simulated(graph, *planned.cluster, devices, semantics);
    CHECK(outcome.start[graph.FindOp("all_reduce/0")] == 11);
    CHECK(outcome.start[graph.FindOp("all_reduce/1")] == 19);
    // In issue order u0 comes before u1, on the same device.
    CHECK(outcome.start[graph.FindOp("r1/u0")] == 27);
    CHECK(outcome.step_time == (semantics == Semantics::kQueue ? 29 : 31));
  }
}

TEST_CASE("the network device is one of at most 64") {
  const Graph step = ChainStep({});
  const Cluster cluster = EqualGpus(64);
  const Plan plan = PlanOf("replicas: 64");
  const Grouping alone = Grouping::Identity(step.num_ops());
  CHECK(MessageOf<InputError>([&] { ApplyPlan(step, cluster, plan, alone); }) ==
        "cluster \"equal_gpus\" has 64 devices; a plan of several replicas adds a device of class "
        "network, and 64 devices are the most; choices: collectives: tree, fewer devices");
  CHECK(ApplyPlan(step, cluster, plan, alone, Copies::kFirst).cluster->num_devices() == 2);
  CHECK(ApplyPlan(step, cluster, PlanOf("{replicas: 64, collectives: tree}"), alone)
            .cluster->num_devices() == 64);
}

TEST_CASE("gradients of layers that may be apart are never in one bucket") {
  const Graph step = ChainStep({.layers = 4});
  const auto collectives = [&](const Grouping& together) {
    const PlannedStep planned = ApplyPlan(step, EqualGpus(4), PlanOf("{replicas: 2}"), together);
    int count = 0;
    for (const PlannedOp& op : planned.planned.ops) count += op.role == PlannedRole::kCollective;
    return count;
  };
  CHECK(collectives(Grouping::Identity(step.num_ops())) == 4);
  std::vector<int> halves;
  for (const Op& op : step.ops()) halves.push_back(op.name[1] >= '2');
  CHECK(collectives(Grouping(halves)) == 2);
}

TEST_CASE("replicas, micro-batches and recomputation together: counts and the placement") {
  const Graph step = ChainStep({.layers = 4});
  std::vector<int> halves;
  for (const Op& op : step.ops()) halves.push_back(op.name[1] >= '2');
  const PlannedStep planned =
      ApplyPlan(step,
                EqualGpus(4),
                PlanOf("{replicas: 2, micro_batches: 3, recompute: ['f*']}"),
                Grouping(halves));
  // In a replica 4 weights, 4 updates, 2 sums of 4 gradients, 3 x (4 f, 4 recomputed f, 4 b).
  const Graph& graph = planned.planned.graph;
  CHECK(graph.num_ops() == 2 * (4 + 4 + 2 * 4 + 3 * 12) + 2);
  std::vector<std::vector<DeviceIndex>> replicas(2);
  for (int r = 0; r < 2; ++r) {
    for (int half : halves) replicas[r].push_back(static_cast<DeviceIndex>(2 * r + half));
  }
  const std::vector<DeviceIndex> devices = PlannedPlacement(planned, replicas);
  for (int op = 0; op < graph.num_ops(); ++op) {
    const PlannedOp& origin = planned.planned.ops[op];
    if (origin.role == PlannedRole::kCollective) {
      CHECK(devices[op] == 4);
      continue;
    }
    CHECK(devices[op] == 2 * origin.replica + halves[origin.op]);
    CHECK(graph.op(op).colocate == fmt::format("r{}/group {}", origin.replica, halves[origin.op]));
  }
  // Each device does 3 x 2 x (3 + 3 + 5) of passes and 2 x 2 of updates. Sums take no time.
  const Outcome outcome = Simulated(graph, *planned.cluster, devices, Semantics::kQueue);
  for (int d = 0; d < 4; ++d) CHECK(outcome.devices[d].busy == 3 * 2 * 11 + 4);
}

TEST_CASE("groups of devices") {
  const Cluster cluster = EqualGpus(4);
  using Groups = std::vector<std::vector<int>>;
  CHECK(DeviceGroups(PlanOf("replicas: 2"), cluster) == Groups{{0, 1}, {2, 3}});
  CHECK(DeviceGroups(PlanOf("{replicas: 2, groups: [['gpu:3', 'gpu:0'], ['gpu:1']]}"), cluster) ==
        Groups{{0, 3}, {1}});
  CHECK(DeviceGroups(PlanOf("{replicas: 1, groups: [['gpu:*']]}"), cluster) ==
        Groups{{0, 1, 2, 3}});
  const auto refusal = [&](const std::string& yaml) {
    return MessageOf<InputError>([&] { DeviceGroups(PlanOf(yaml), cluster); });
  };
  CHECK(
      refusal("replicas: 3") ==
      "replicas: the 4 GPUs of cluster \"equal_gpus\" do not divide among 3 replicas; choices: 1, "
      "2, 4");
  CHECK(refusal("{replicas: 2, groups: [['gpu:0'], ['gpu:7']]}") ==
        "p:1:36: groups.1.0: no device of cluster \"equal_gpus\" is called gpu:7; choices: "
        "\"gpu:0\", \"gpu:1\", \"gpu:2\", \"gpu:3\"");
  CHECK(refusal("{replicas: 2, groups: [['gpu:0'], ['gpu:0']]}") ==
        "p:1:36: groups.1.0: device gpu:0 is also in group 0; only CPUs beside GPUs may be in "
        "several");
  CHECK(refusal("{replicas: 2, groups: [['gpu:0']]}") ==
        "p:1:23: groups: expected 2 groups, one for each replica, got 1");
  CHECK(refusal("{groups: [[]]}") == "p:1:11: groups.0: expected the names of devices, got none");
  CHECK(MessageOf<SettingError>([] { BucketBytes(PlanOf("bucket: 25")); }).find("bucket: ") == 0);
}

}  // namespace
