#include "framework/bounds/window_bounds.h"

#include <vector>

#include "framework/bounds/segments.h"
#include "tests/simulator/simulate.h"
#include "tests/support/sanitizers.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("windows: a group's ops add up between their heads and tails") {
  ProblemBuilder b = Gpus(2);
  const int a = b.Op("a", {10});
  const int x = b.Op("x", {20}, {a});
  const int y = b.Op("y", {30}, {a});
  b.Op("b", {5}, {x, y});
  // x and y after a, 10, and before b, 5: 10 + 50 + 5.
  const auto problem = b.Build(Grouping(std::vector<int>{0, 1, 1, 0}));
  const DelayGraph graph(*problem);
  DeviceMasks masks = AllowedDevices(*problem);
  WindowBounds windows(graph);
  CHECK(windows.Bound(masks, kMaxNanos, WindowParts::kGroups) == 65);
  CHECK(masks == AllowedDevices(*problem));
}

TEST_CASE("windows: work between heads and tails") {
  ProblemBuilder b = Gpus(2, 0);
  const int a = b.Op("a", {10});
  std::vector<int> middle;
  for (int i = 0; i < 4; ++i) middle.push_back(b.Op("m" + std::to_string(i), {20}, {a}));
  b.Op("b", {5}, middle);
  const auto problem = b.Build();
  const DelayGraph graph(*problem);
  DeviceMasks masks = AllowedDevices(*problem);
  WindowBounds windows(graph);
  // The longest path takes 10 + 20 + 5; 80 ns of work on two devices between a and b take 40.
  CHECK(windows.Bound(masks, kMaxNanos, WindowParts::kGroups) == 35);
  CHECK(windows.Bound(masks, kMaxNanos, WindowParts::kWork) == 10 + 40 + 5);
  CHECK(BoundByWindows(graph, 0) == 55);
}

TEST_CASE("windows: gaps after ops, but not after the last one of a device") {
  ProblemBuilder b = Gpus(2, 0);
  for (int d = 0; d < 2; ++d) b.kind(d).gap = 3;
  for (int i = 0; i < 4; ++i) b.Op("op" + std::to_string(i), {20});
  const auto problem = b.Build();
  const DelayGraph graph(*problem);
  WindowBounds windows(graph);
  DeviceMasks masks = AllowedDevices(*problem);
  CHECK(windows.Bound(masks, kMaxNanos, WindowParts::kWork) == 2 * 23 - 3);
  masks = {1, 1, 1, 2};
  CHECK(windows.Bound(masks, kMaxNanos, WindowParts::kDevices) == 3 * 23 - 3);
}

TEST_CASE("windows: a target takes devices away and so proves more") {
  ProblemBuilder b = Gpus(2, 0);
  for (int i = 0; i < 3; ++i) b.Op("op" + std::to_string(i), {20, 50});
  const auto problem = b.Build();
  const DelayGraph graph(*problem);
  WindowBounds windows(graph);
  DeviceMasks masks = AllowedDevices(*problem);
  // Split: x on slow with 60 - 20 x = 50 x, x = 6/7: 42.9. Below 50 the slow one is of no use.
  CHECK(windows.Bound(masks, kMaxNanos, WindowParts::kWork) == 43);
  CHECK(windows.Bound(masks, 49, WindowParts::kWork) == 60);
  CHECK(masks == DeviceMasks{1, 1, 1});
  CHECK(BoundByWindows(graph, 20) == 50);
  CHECK(BoundByWindows(graph, 1, 50) == 50);
  // T = 45 is disproved, too, so that the proof goes on; T = 55 is not.
  CHECK(BoundByWindows(graph, 20, kMaxNanos, 45) == 50);
  CHECK(BoundByWindows(graph, 20, kMaxNanos, 55) == 55);
}

TEST_CASE("windows: no step within masks is shorter; devices taken away are used by none") {
  int taken = 0;
  for (const SimulatorOptions& options : EverySemantics()) {
    Rng rng(51);
    for (int round = 0; round < 150 * EMPLACE_TEST_SCALE / kSanitizerDivisor; ++round) {
      RandomProblemOptions random;
      random.num_ops = 4 + UniformInt(rng, 12);
      random.num_devices = 2 + UniformInt(rng, 2);
      random.forbidden = true;
      const auto problem = RandomProblem(rng, random);
      DelayGraph graph(*problem);
      AddQuickSegments(graph);
      WindowBounds windows(graph);
      const auto simulator = MakeSimulator(problem, options);
      const DeviceMasks all = AllowedDevices(*problem);
      const Nanos bound = BoundByWindows(graph, 6);
      for (int i = 0; i < 20; ++i) {
        const Placement placement = RandomPlacement(rng, *problem);
        const Nanos step = simulator->Evaluate(placement).step_time;
        REQUIRE(bound <= step);
        DeviceMasks masks = all;
        for (auto& mask : masks) mask &= static_cast<std::uint64_t>(1 + UniformInt(rng, 7));
        for (int g = 0; g < problem->num_groups(); ++g) {
          masks[g] |= std::uint64_t{1} << placement.device[g];
        }
        const DeviceMasks before = masks;
        REQUIRE(windows.Bound(masks, step, WindowParts::kWork) <= step);
        for (int g = 0; g < problem->num_groups(); ++g) {
          REQUIRE((masks[g] >> placement.device[g] & 1) == 1);
        }
        taken += masks != before;
      }
    }
  }
  CHECK(taken > 100);
}

}  // namespace
