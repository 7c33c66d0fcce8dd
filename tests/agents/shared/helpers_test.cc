// The small parts that agents share.

#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/random/random_agent.h"
#include "agents/shared/devices.h"
#include "agents/shared/list_schedule.h"
#include "agents/shared/merged_groups.h"
#include "agents/shared/moves.h"
#include "agents/shared/partition_graph.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("messages between two ops are counted once, control edges without bytes") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  const int a = builder.Op("a", {1}, {}, 7);
  const int b = builder.Op("b", {1});
  const int c = builder.Op("c", {1}, {a, a});
  builder.op(c).inputs.push_back(builder.AddOutput(a, "second", 5));
  builder.op(c).inputs.push_back(builder.Input("x", 100));
  builder.op(c).control_inputs = {b};
  const auto problem = builder.Build();
  const OpInputs inputs(problem->graph());
  REQUIRE(inputs[c].size() == 2);
  CHECK(inputs[c][0].op == a);
  CHECK(inputs[c][0].bytes == 12);
  CHECK(inputs[c][1].op == b);
  CHECK(inputs[c][1].bytes == 0);
}

TEST_CASE("speeds: relative to the mean cost, times the slots") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Device("gpu:1");
  builder.Device("gpu:2", kUnlimitedMemory, 2);
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("a", {10, 20, 10});
  // 1 : 1/2 : 2, mean 1.
  const std::vector<double> speeds = DeviceSpeeds(*builder.Build(), {0, 1, 2});
  CHECK(speeds[0] == doctest::Approx(6 / 7.0));
  CHECK(speeds[1] == doctest::Approx(3 / 7.0));
  CHECK(speeds[2] == doctest::Approx(12 / 7.0));
}

TEST_CASE("moves change something, keep constraints, and do what their name says") {
  Rng rng(6);
  const auto problem = MixedProblem(rng, 60, 3, kUnlimitedMemory);
  const auto changed = [&](const Placement& a, const Placement& b) {
    int count = 0;
    for (int g = 0; g < problem->num_groups(); ++g) {
      count += a.device[g] != b.device[g];
      CHECK(problem->allowed(g, b.device[g]));
    }
    return count;
  };
  const Placement start = DrawPlacement(*problem, rng);
  const auto most_and_least = [&](MoveConfig config) {
    config.part = 0;
    const MoveProposer proposer(*problem, config, "moves");
    int least = 1000, most = 0;
    for (int i = 0; i < 500; ++i) {
      MoveLists lists;
      proposer.Propose(rng, start, lists);
      Placement moved = start;
      lists.Apply(0, moved.device);
      least = std::min(least, changed(start, moved));
      most = std::max(most, changed(start, moved));
    }
    return std::pair{least, most};
  };
  CHECK(most_and_least({.single = 1, .swap = 0, .neighbors = 0, .block = 0}) == std::pair{1, 1});
  const auto swaps = most_and_least({.single = 0, .swap = 1, .neighbors = 0, .block = 0});
  CHECK(swaps.first >= 1);  // a pivot that cannot be exchanged moves alone
  CHECK(swaps.second == 2);
  const auto [least, most] = most_and_least({.single = 0, .swap = 0, .neighbors = 1, .block = 0});
  CHECK(least == 1);
  CHECK(most > 1);
  CHECK(most <= 9);
  CHECK(most_and_least({.single = 0, .swap = 0, .neighbors = 0, .block = 1}).second > 4);

  const MoveProposer proposer(*problem, {}, "moves");
  MoveLists lists;
  proposer.Perturb(rng, 0, start, lists);
  proposer.Perturb(rng, 1, start, lists);
  REQUIRE(lists.size() == 2);
  const Neighbors neighbors = lists.Of(start);
  CHECK(neighbors.size() == 2);
  CHECK(neighbors.begin[1] == 1);
  Placement perturbed = start;
  lists.Apply(0, perturbed.device);
  CHECK(changed(start, perturbed) == 1);
  perturbed = start;
  lists.Apply(1, perturbed.device);
  CHECK(changed(start, perturbed) == NumChoices(*problem));
  lists.Clear();
  CHECK(lists.size() == 0);
  CHECK(lists.Of(start).moves.empty());
}

// Two chains of 300 ops without any edge between them: every part lies in one chain.
TEST_CASE("moves of parts, from 32 groups on") {
  ProblemBuilder builder = Gpus(2);
  for (int i = 0; i < 600; ++i) {
    const std::vector<int> inputs = i % 300 == 0 ? std::vector<int>() : std::vector<int>{i - 1};
    builder.Op(fmt::format("op{}", i), {1, 1}, inputs, 100);
  }
  const auto problem = builder.Build();
  const MoveConfig config = {.single = 1e-9, .swap = 0, .neighbors = 0, .block = 0};
  const MoveProposer proposer(*problem, config, "moves");
  const Placement start{std::vector<DeviceIndex>(600, 0)};
  Rng rng(3);
  std::set<std::size_t> sizes;
  for (int i = 0; i < 200; ++i) {
    MoveLists lists;
    proposer.Propose(rng, start, lists);
    const Neighbors neighbors = lists.Of(start);
    for (const Move& move : neighbors.moves) {
      CHECK(move.device == 1);
      CHECK(move.group / 300 == neighbors.moves[0].group / 300);
    }
    sizes.insert(neighbors.moves.size());
  }
  CHECK(sizes.size() > 2);
  CHECK(*sizes.rbegin() >= 600 / 8);

  const auto small = MixedProblem(rng, 25, 3, kUnlimitedMemory);
  REQUIRE(small->num_groups() < 32);
  const MoveProposer alone(*small, config, "moves");
  for (int i = 0; i < 100; ++i) {
    MoveLists lists;
    const Placement base = DrawPlacement(*small, rng);
    alone.Propose(rng, base, lists);
    CHECK(lists.Of(base).moves.size() == 1);
  }
}

TEST_CASE("merged groups: hand-made, and parts without neighbours") {
  ProblemBuilder builder = Gpus(1);
  // Costs 1, 5, 9: the first is merged with the one to which it sends 100 B.
  const int a = builder.Op("a", {1}, {}, 100);
  const int b = builder.Op("b", {5}, {}, 10);
  builder.Op("c", {9}, {a, b}, 0);
  CHECK(MergedGroups(*builder.Build(), 2) == std::vector<int>{0, 1, 0});
  ProblemBuilder loose = Gpus(1);
  for (int i = 0; i < 5; ++i) loose.Op(fmt::format("op{}", i), {Nanos{10}});
  CHECK(MergedGroups(*loose.Build(), 2) == std::vector<int>{0, 1, 0, 1, 0});
}

TEST_CASE("partition graphs hold 32 bits, whatever the numbers") {
  ProblemBuilder builder = Gpus(2);
  const int a = builder.Op("a", {1'000'000'000'000'000}, {}, 1'000'000'000'000);
  const int b = builder.Op("b", {0}, {a}, 0);
  builder.Op("c", {1}, {b});
  const PartitionGraph graph = MakePartitionGraph(*builder.Build(), 0b11);
  CHECK(graph.size() == 3);
  CHECK(graph.vertex_weight == std::vector<std::int32_t>{1 << 28, 1, 1});
  CHECK(graph.offsets == std::vector<std::int32_t>{0, 1, 3, 4});
  CHECK(graph.neighbors == std::vector<std::int32_t>{1, 0, 2, 1});
  CHECK(graph.edge_weight == std::vector<std::int32_t>{1 << 27, 1 << 27, 1, 1});
}

TEST_CASE("repair: to the allowed device that shares the most bytes, then the least loaded") {
  ProblemBuilder builder = Gpus(3);
  constexpr Nanos kNo = kMaxNanos;
  const int a = builder.Op("a", {5}, {}, 10);
  const int b = builder.Op("b", {5}, {}, 20);
  builder.Op("near_b", {kNo, 5, 5}, {a, b});
  builder.Op("free", {kNo, 5, 5});
  const auto problem = builder.Build();
  const PartitionGraph graph = MakePartitionGraph(*problem, 0b111);
  // a on gpu:1, b on gpu:2; the others were put on gpu:0, where they may not run. "near_b" shares
  // 20 B with gpu:2, then gpu:1 (5 ns) is less loaded than gpu:2 (10 ns).
  CHECK(RepairPartition(*problem, graph, {0, 1, 2}, {1, 2, 0, 0}).device ==
        std::vector<DeviceIndex>{1, 2, 2, 1});
}

TEST_CASE("mean costs are over the devices that a group may have") {
  ProblemBuilder b = Gpus(3);
  b.Op("a", {1, 2, 6});
  b.Op("b", {4});
  CHECK(MeanCosts(*b.Build()) == std::vector<double>{3, 4});
}

TEST_CASE("network devices do not compute: neither all devices nor the cheapest single one") {
  ProblemBuilder b;
  const auto add = [&](const std::string& name, DeviceClass device_class) {
    b.kind(b.Device(name)).device_class = device_class;
  };
  add("net:0", DeviceClass::kNetwork);
  add("cpu:0", DeviceClass::kCpu);
  add("gpu:0", DeviceClass::kGpu);
  b.AllToAll(1, kGigabytePerSecond);
  b.Op("a", {kMaxNanos, 9, 8});
  b.Op("sum", {1, kMaxNanos, kMaxNanos});
  const auto problem = b.Build();
  const Cluster& cluster = problem->cluster();
  CHECK(ComputingDevices(cluster) == std::vector<int>{1, 2});
  CHECK(SelectDevices(cluster, "devices", "all") == std::vector<int>{1, 2});
  CHECK(SelectDevices(cluster, "devices", "*:0") == std::vector<int>{0, 1, 2});
  CHECK(SelectDevices(cluster, "devices", "gpu") == std::vector<int>{2});
  CHECK(CheapestSingleDevice(*problem) == 2);
  CHECK(ComputingDevices(*Gpus(2).BuildCluster()) == std::vector<int>{0, 1});

  ProblemBuilder only;
  only.kind(only.Device("net:0")).device_class = DeviceClass::kNetwork;
  only.Op("sum", {1});
  CHECK(ComputingDevices(only.Build()->cluster()) == std::vector<int>{0});
  CHECK(CheapestSingleDevice(*only.Build()) == 0);
}

TEST_CASE("random orders have every number once, and all of them come up") {
  Rng rng(3);
  std::set<std::vector<int>> seen;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int> order = RandomOrder(4, rng);
    seen.insert(order);
    std::ranges::sort(order);
    CHECK(order == std::vector<int>{0, 1, 2, 3});
  }
  CHECK(seen.size() == 24);  // each is missed with a probability of (23 / 24)^200 = 2e-4
}

}  // namespace
