#include "framework/bounds/partial_bound.h"

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
    }
  }
}

}  // namespace
