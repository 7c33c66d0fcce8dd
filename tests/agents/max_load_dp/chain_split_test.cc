#include "agents/max_load_dp/chain_split.h"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kManyIdeals = 100'000;

std::shared_ptr<const Problem> PeriodOf(const ProblemBuilder& b) {
  return WithObjective(*b.Build(), Objective::kPeriod);
}

Nanos PeriodOfSplit(const std::shared_ptr<const Problem>& problem, int max_ideals) {
  const SplitOfGroups split = Split(CompiledPeriod(*problem), max_ideals);
  const Outcome outcome = MakeSimulator(problem, {})->Evaluate(split.placement);
  CHECK(outcome.feasible);
  return outcome.step_time;
}

// Devices of one kind, 1 B/ns from each to each.
ProblemBuilder EqualDevices(int count, std::int64_t memory = kUnlimitedMemory) {
  ProblemBuilder b;
  for (int d = 0; d < count; ++d) b.Device(std::string(1, static_cast<char>('p' + d)), memory);
  b.AllToAll(0, kGigabytePerSecond);
  return b;
}

TEST_CASE("a chain is cut where the largest load is least") {
  ProblemBuilder b = EqualDevices(2);
  b.Op("a", {4}, {}, 5);
  b.Op("b", {2}, {0}, 1);
  b.Op("c", {3}, {1}, 9);
  b.Op("d", {3}, {2}, 0);
  // Behind a: 4 + 5, 8 + 5. Behind b: 6 + 1, 6 + 1. Behind c: 9 + 9, 3 + 9. Nowhere: 12.
  CHECK(PeriodOfSplit(PeriodOf(b), 0) == 7);
  CHECK(PeriodOfSplit(PeriodOf(b), kManyIdeals) == 7);
}

TEST_CASE("ideals find the convex sets that no cut of the linear order gives") {
  ProblemBuilder b = EqualDevices(2);
  b.Op("a0", {10}, {}, 100);
  b.Op("b0", {10}, {}, 100);
  b.Op("a1", {10}, {0});
  b.Op("b1", {10}, {1});
  // In the order a0 b0 a1 b1 every cut parts a chain and costs 100 on both sides: all on one, 40.
  CHECK(PeriodOfSplit(PeriodOf(b), 0) == 40);
  const auto problem = PeriodOf(b);
  CHECK(PeriodOfSplit(problem, kManyIdeals) == 20);
  // {}, a0, b0, a0 b0, a0 a1, b0 b1, a0 b0 a1, a0 b0 b1, all.
  CHECK(Split(CompiledPeriod(*problem), 9).num_ideals == 9);
  CHECK(Split(CompiledPeriod(*problem), 8).num_ideals == 0);
  CHECK(PeriodOfSplit(problem, 8) == 40);
}

TEST_CASE("memory moves the cut") {
  ProblemBuilder b = EqualDevices(2, 30);
  b.Op("a", {1}, {}, 20);
  b.Op("b", {1}, {0}, 20);
  b.Op("c", {60}, {1}, 5);
  // The least period would be 62, all on one device, which has 30 of 45 B. Behind a: 1 + 20,
  // 61 + 20 with 25 B; behind b 40 B do not fit.
  CHECK(PeriodOfSplit(PeriodOf(b), 0) == 81);
  CHECK(PeriodOfSplit(PeriodOf(b), kManyIdeals) == 81);
}

TEST_CASE("backward ops come with the forward op of their group") {
  ProblemBuilder b = EqualDevices(2);
  b.Op("f0", {10}, {}, 1);
  b.Op("f1", {10}, {0}, 1);
  b.Op("g1", {20}, {1}, 1);
  b.Op("g0", {20}, {2}, 1);
  b.op(2).phase = b.op(3).phase = Phase::kBackward;
  const auto built = b.Build(Grouping(std::vector<int>{0, 1, 1, 0}));
  // {f0, g0} and {f1, g1}: 30 each, f0 -> f1 and g1 -> g0 cross.
  CHECK(PeriodOfSplit(WithObjective(*built, Objective::kPeriod), kManyIdeals) == 32);
}

TEST_CASE("groups that may not run on all devices are placed afterwards") {
  ProblemBuilder b = EqualDevices(2);
  b.Op("a", {10, 10}, {}, 1);
  b.Op("only p", {3, kMaxNanos}, {0}, 1);
  b.Op("b", {10, 10}, {1}, 1);
  const auto problem = PeriodOf(b);
  const SplitOfGroups split = Split(CompiledPeriod(*problem), kManyIdeals);
  CHECK(split.placement.device[1] == 0);
  // a beside it: 13 + 1 out; b: 10 + 1 in.
  CHECK(MakeSimulator(problem, {})->Evaluate(split.placement).step_time == 14);
}

// The least period of all placements with an order of the devices in which no item goes backwards.
Nanos BestConvex(const std::shared_ptr<const Problem>& problem) {
  const int n = problem->num_groups(), devices = problem->num_devices();
  const auto simulator = MakeSimulator(problem, {});
  Nanos best = kMaxNanos;
  for (const Placement& placement : AllPlacements(*problem)) {
    std::vector<int> stage(devices);
    std::iota(stage.begin(), stage.end(), 0);
    bool convex = false;
    do {
      bool forward = true;
      for (int v = 0; v < n; ++v) {
        for (const int u : problem->graph().predecessors(v)) {
          forward &= stage[placement.device[u]] <= stage[placement.device[v]];
        }
      }
      convex |= forward;
    } while (!convex && std::ranges::next_permutation(stage).found);
    const Outcome outcome = simulator->Evaluate(placement);
    if (convex && outcome.feasible) best = std::min(best, outcome.step_time);
  }
  return best;
}

TEST_CASE("over all ideals the split is the best convex one, on equal and unequal devices") {
  Rng rng(3);
  for (int trial = 0; trial < 30 * EMPLACE_TEST_SCALE; ++trial) {
    const int devices = 2 + UniformInt(rng, 2), ops = 1 + UniformInt(rng, 6);
    const bool equal = UniformInt(rng, 2) == 0;
    ProblemBuilder b = EqualDevices(devices, 60);
    if (UniformInt(rng, 2) == 0) b.kind(0).pays_transfers = false;
    for (int v = 0; v < ops; ++v) {
      std::vector<Nanos> costs(devices, 1 + UniformInt(rng, 20));
      for (int d = 0; d < devices && !equal; ++d) costs[d] = 1 + UniformInt(rng, 20);
      std::vector<int> inputs;
      for (int u = 0; u < v; ++u) {
        if (UniformInt(rng, 3) == 0) inputs.push_back(u);
      }
      b.Op(std::string(1, static_cast<char>('a' + v)), costs, inputs, UniformInt(rng, 15));
    }
    const auto problem = PeriodOf(b);
    CHECK(PeriodOfSplit(problem, kManyIdeals) == BestConvex(problem));
  }
}

TEST_CASE("a larger graph: ideals or not, the split uses the devices") {
  Rng rng(4);
  const auto problem = LayeredPeriod(rng, {.layers = 4, .num_devices = 3, .memory = 3});
  const Outcome one = MakeSimulator(problem, {})
                          ->Evaluate(Placement{std::vector<DeviceIndex>(problem->num_groups(), 1)});
  CHECK(PeriodOfSplit(problem, 0) < 0.6 * static_cast<double>(one.step_time));
}

TEST_CASE("more groups than places to cut at") {
  ProblemBuilder b = EqualDevices(2);
  b.Op("0", {1});
  for (int v = 1; v < 3000; ++v) b.Op(std::to_string(v), {1}, {v - 1}, 1);
  // 1500 each and one transfer, but for the grain of 3 ops.
  const Nanos period = PeriodOfSplit(PeriodOf(b), 100);
  CHECK(period >= 1501);
  CHECK(period <= 1504);
}

}  // namespace
