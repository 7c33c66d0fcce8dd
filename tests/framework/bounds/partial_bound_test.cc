#include "framework/bounds/partial_bound.h"

#include <string>
#include <vector>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("paths: a branch stays with its source or pays for the transfer") {
  ProblemBuilder b = Gpus(2);  // 1 B/ns after 1 ns
  const int a = b.Op("a", {10}, {}, 6);
  const int x = b.Op("x", {5}, {a}, 6);
  b.Op("y", {5}, {x});
  const auto problem = b.Build();
  PartialBound bound(*problem);
  CHECK(bound(std::vector<std::uint64_t>{3, 3, 3}) == 10 + 5 + 5);
  CHECK(bound(std::vector<std::uint64_t>{1, 3, 2}) == 10 + 5 + 5 + (1 + 6));
  CHECK(bound(std::vector<std::uint64_t>{1, 2, 1}) == 10 + 5 + 5 + 2 * (1 + 6));
}

TEST_CASE("load: what has no other choice, over the slots") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory, 2);
  b.Device("d1");
  b.AllToAll(1, kGigabytePerSecond);
  for (int i = 0; i < 5; ++i) b.Op("op" + std::to_string(i), {7});
  const auto problem = b.Build();
  PartialBound bound(*problem);
  CHECK(bound(std::vector<std::uint64_t>{1, 1, 1, 3, 3}) == 11);  // 21 / 2, rounded up
  CHECK(bound(std::vector<std::uint64_t>{2, 2, 2, 3, 3}) == 21);
}

TEST_CASE("heads and tails: an op waits for all work that leads to it") {
  ProblemBuilder b = Gpus(2);  // 1 ns between
  const int a = b.Op("a", {10});
  const int x = b.Op("b0", {5}, {a});
  const int y = b.Op("b1", {5}, {a});
  const int z = b.Op("b2", {5}, {a});
  const int join = b.Op("c", {1}, {x, y, z});
  const int p = b.Op("d0", {5}, {join});
  const int q = b.Op("d1", {5}, {join});
  const int r = b.Op("d2", {5}, {join});
  b.Op("e", {1}, {p, q, r});
  const auto problem = b.Build();
  PartialBound bound(*problem);
  // On gpu:0 10 + 3 * 5, on gpu:1 1 + 3 * 5, back on gpu:0 1, and twice the way; the longest path
  // is 10 + 5 + 1 + 1 + 5 + 1 + 1.
  CHECK(bound(std::vector<std::uint64_t>{1, 1, 1, 1, 2, 2, 2, 2, 1}) == 25 + 1 + 16 + 1 + 1);
}

TEST_CASE("of many ops the heaviest 256 count in heads and tails, wherever they stand") {
  // Two stages of 300 ops of 1 ns and then 3 ops of 100 ns; c joins the first, e the second.
  ProblemBuilder b = Gpus(2);  // 1 ns between
  DeviceMasks masks;
  const auto stage = [&](std::vector<int> inputs, std::uint64_t mask) {
    std::vector<int> ops;
    for (int i = 0; i < 303; ++i) {
      const std::string name = "op" + std::to_string(masks.size());
      ops.push_back(b.Op(name, {i < 300 ? 1 : 100}, inputs));
      masks.push_back(mask);
    }
    return ops;
  };
  const int c = b.Op("c", {1}, stage({}, 1));
  masks.push_back(2);
  b.Op("e", {1}, stage({c}, 2));
  masks.push_back(1);
  const auto problem = b.Build();
  PartialBound bound(*problem);
  // The 6 long ops and the first 250 short ones count. So c begins at 250 + 3 * 100; then gpu:1
  // has 1 + 600 ns of work, and e is 1 ns away.
  CHECK(bound(masks) == 550 + 1 + 600 + 1 + 1);
}

TEST_CASE("channels: what crosses, each tensor once to a device") {
  ProblemBuilder b = Gpus(2);  // 1 B/ns after 1 ns
  const int a = b.Op("a", {1}, {}, 100);
  const int c = b.Op("c", {1}, {}, 100);
  b.Op("x", {1}, {a});
  b.Op("y", {1}, {a});
  b.Op("z", {1}, {c});
  const auto problem = b.Build();
  PartialBound bound(*problem);
  // A path: 1 + (1 + 100) + 1.
  CHECK(bound(std::vector<std::uint64_t>{1, 1, 2, 3, 3}) == 103);
  // x and y share a transfer, and one is behind the other: 1 + (1 + 100) + 2.
  CHECK(bound(std::vector<std::uint64_t>{1, 1, 2, 2, 3}) == 104);
  // Two transfers of 100 begin at 1; after the last one the latency and an op.
  CHECK(bound(std::vector<std::uint64_t>{1, 1, 2, 3, 2}) == 1 + 2 * 100 + 1 + 1);
  CHECK(bound(std::vector<std::uint64_t>{1, 1, 2, 2, 2}) == 1 + 2 * 100 + 1 + 1);
}

TEST_CASE("devices: gaps after ops, also within a chain, but not at the end") {
  ProblemBuilder b = Gpus(2);
  for (int d = 0; d < 2; ++d) b.kind(d).gap = 3;
  const int a = b.Op("a", {10});
  const int none = b.Op("none", {0}, {a});
  b.Op("c", {10}, {none});
  b.Op("w", {50});
  const auto problem = b.Build(Grouping(std::vector<int>{0, 0, 0, 1}));
  PartialBound bound(*problem);
  CHECK(bound(std::vector<std::uint64_t>{1, 2}) == 50);
  CHECK(bound(std::vector<std::uint64_t>{1, 1}) == 10 + 3 + 10 + 3 + 50);
  CHECK(PartialBound(*problem).OfPlacement({{0, 0}}) == 76);
}

TEST_CASE("devices: transfers that occupy them, beside their ops") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name);
  const int copy = b.Channel("copy", 1, kGigabytePerSecond);
  b.Route(0, 1, {copy});
  b.Route(1, 0, {copy});
  const int a = b.Op("a", {1}, {}, 100);
  b.Op("x", {1}, {a});
  b.Op("w", {50});
  const std::vector<std::uint64_t> masks{1, 2, 1};
  // The path: 1 + (100 + 1) + 1.
  for (const Occupies occupies : {Occupies::kNone, Occupies::kDestination}) {
    b.channel(copy).occupies = occupies;
    CHECK(PartialBound(*b.Build())(masks) == 103);
  }
  // d0: 1 + 100 + 50.
  for (const Occupies occupies : {Occupies::kSource, Occupies::kBoth}) {
    b.channel(copy).occupies = occupies;
    CHECK(PartialBound(*b.Build())(masks) == 151);
  }
}

TEST_CASE("channels: one transfer that serves every destination counts nothing") {
  ProblemBuilder b;
  for (int d = 0; d < 2; ++d) b.Device("d" + std::to_string(d));
  b.EgressBus(1, kGigabytePerSecond, 0, true);
  const int a = b.Op("a", {1}, {}, 100);
  const int c = b.Op("c", {1}, {}, 100);
  b.Op("x", {1}, {a});
  b.Op("z", {1}, {c});
  const auto problem = b.Build();
  PartialBound bound(*problem);
  CHECK(bound(std::vector<std::uint64_t>{1, 1, 2, 2}) == 104);
}

TEST_CASE("a device goes where a group does not fit beside those that have no other choice") {
  ProblemBuilder b = Gpus(2);
  for (int i = 0; i < 5; ++i) b.Op("op" + std::to_string(i), {7});
  const auto problem = b.Build();
  PartialBound bound(*problem);
  DeviceMasks masks{1, 1, 3, 3, 1};
  CHECK(bound.Exclude(masks, 27) == 21);
  CHECK(masks == DeviceMasks{1, 1, 2, 2, 1});
  masks = {1, 1, 2, 2, 3};
  CHECK(bound.Exclude(masks, 20) == 21);  // neither device has room
}

TEST_CASE("a chain of a group counts as one op, and only a chain") {
  // a, b and c of one group, d of another reads b: its item is there before c runs.
  ProblemBuilder b = Gpus(2);
  const int a = b.Op("a", {3}, {}, 6);
  const int second = b.Op("b", {4}, {a}, 6);
  b.Op("c", {50}, {second}, 6);
  b.Op("d", {9}, {second});
  const auto problem = b.Build(Grouping(std::vector<int>{0, 0, 0, 1}));
  PartialBound bound(*problem);
  CHECK(bound(std::vector<std::uint64_t>{1, 2}) == 3 + 4 + 50);
  CHECK(bound(std::vector<std::uint64_t>{1, 1}) == 3 + 4 + 50 + 9);
}

TEST_CASE("devices that would make a step longer than the target go") {
  ProblemBuilder b = Gpus(2);
  const int a = b.Op("a", {10}, {}, 6);
  const int x = b.Op("x", {5}, {a}, 6);
  b.Op("y", {5}, {x});
  const auto problem = b.Build();
  PartialBound bound(*problem);
  DeviceMasks masks{1, 3, 3};
  CHECK(bound.Exclude(masks, 26) == 20);
  CHECK(masks == DeviceMasks{1, 1, 1});
  // With y elsewhere its transfer is due: 20 + 7.
  masks = {1, 3, 2};
  CHECK(bound.Exclude(masks, 26) > 26);
}

TEST_CASE("no placement within the masks has a shorter step") {
  for (const SimulatorOptions& options : EverySemantics()) {
    Rng rng(31);
    for (int i = 0; i < 300 * EMPLACE_TEST_SCALE; ++i) {
      RandomProblemOptions random;
      random.num_ops = 4 + static_cast<int>(UniformInt(rng, 16));
      random.num_devices = 2 + static_cast<int>(UniformInt(rng, 3));
      random.forbidden = true;
      const auto problem = RandomProblem(rng, random);
      const int groups = problem->num_groups();
      std::vector<std::uint64_t> masks(groups);
      Placement placement{std::vector<DeviceIndex>(groups)};
      for (int g = 0; g < groups; ++g) {
        const std::uint64_t allowed = problem->allowed_devices(g);
        do {
          placement.device[g] = static_cast<DeviceIndex>(UniformInt(rng, random.num_devices));
        } while (!problem->allowed(g, placement.device[g]));
        const bool fixed = UniformInt(rng, 2) == 0;
        masks[g] = std::uint64_t{1} << placement.device[g];
        if (!fixed) masks[g] |= allowed & static_cast<std::uint64_t>(UniformInt(rng, 16));
      }
      PartialBound bound(*problem);
      const Outcome outcome = MakeSimulator(problem, options)->Evaluate(placement);
      REQUIRE(bound(masks) <= outcome.step_time);
      REQUIRE(bound.Exclude(masks, outcome.step_time) <= outcome.step_time);
      for (int g = 0; g < groups; ++g) REQUIRE((masks[g] >> placement.device[g] & 1) == 1);
      REQUIRE(bound.OfPlacement(placement) >= bound(masks));
      REQUIRE(bound.OfPlacement(placement) <= outcome.step_time);
    }
  }
}

}  // namespace
