#include "experiments/plan/op_moves.h"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "tests/framework/plan/training_steps.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("moved ops: the best placement of a small pipeline, whose stages are not contiguous") {
  // Three layers of 3 + 5 ns and 4 micro-batches on two devices. The first stage has two layers,
  // 4 * 16 ns, waits for the last layer once, 8 ns, and has updates of 4 ns. With the forward op of
  // the middle layer on the other device, the loads are 4 * 13 and 4 * 11.
  PlanSetting setting;
  setting.step = std::make_shared<const Graph>(ChainStep({.layers = 3, .activation = 4}));
  setting.cluster = std::make_shared<const Cluster>(EqualGpus(2, 0, {1'000'000'000'000, 1}));
  Plan plan;
  plan.micro_batches = 4;
  ReplicaDevices devices(1);
  for (const Op& op : setting.step->ops()) devices[0].push_back(op.name.back() == '2' ? 1 : 0);
  const PlacedPlan placed = PlacePlan(setting, plan, devices, Schedule::k1F1B);
  const Outcome before = SimulatePlaced(setting, placed);
  CHECK(before.step_time >= 64 + 4);

  const MovedOps moved = MoveOps(setting, placed, 4000, [] { return false; });
  CHECK(moved.outcome.step_time < before.step_time);
  CHECK(SimulatePlaced(setting, moved.placed).step_time == moved.outcome.step_time);
  CHECK(moved.placed.issue_order == placed.issue_order);
  std::map<int, DeviceIndex> device_of_op;
  int differs = 0;
  for (std::size_t i = 0; i < placed.ops.size(); ++i) {
    const auto [entry, is_new] =
        device_of_op.emplace(placed.ops[i].op, moved.placed.device_of_op[i]);
    CHECK(entry->second == moved.placed.device_of_op[i]);
    if (is_new) differs += entry->second != placed.device_of_op[i];
  }
  CHECK(moved.num_moved == differs);
  CHECK(differs > 0);

  // Weights and their updates share labels: 9 groups.
  const Problem& problem = *moved.placed.problem;
  REQUIRE(problem.num_groups() == 9);
  const auto simulator = PlacedSimulator(setting, moved.placed);
  Nanos best = kMaxNanos;
  for (int choice = 0; choice < 1 << 9; ++choice) {
    Placement placement;
    for (int g = 0; g < 9; ++g) placement.device.push_back(choice >> g & 1);
    best = std::min(best, simulator->Evaluate(placement).step_time);
  }
  CHECK(moved.outcome.step_time == best);
}

TEST_CASE("moved ops: nothing changes when the search is stopped at once") {
  PlanSetting setting;
  setting.step = std::make_shared<const Graph>(ChainStep({.layers = 2}));
  setting.cluster = std::make_shared<const Cluster>(EqualGpus(2));
  ReplicaDevices devices(1);
  for (const Op& op : setting.step->ops()) devices[0].push_back(op.name.back() == '1' ? 1 : 0);
  const PlacedPlan placed = PlacePlan(setting, {}, devices, Schedule::k1F1B);
  const MovedOps moved = MoveOps(setting, placed, 1000, [] { return true; });
  CHECK(moved.num_moved == 0);
  CHECK(moved.placed.device_of_op == placed.device_of_op);
  CHECK(moved.outcome.step_time == SimulatePlaced(setting, placed).step_time);
}

}  // namespace
