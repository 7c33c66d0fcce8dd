#include "framework/bounds/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("critical path: each op at its best device, transfers free") {
  ProblemBuilder b = Gpus(2, 1000);
  b.Op("a", {10, 20});
  b.Op("b", {30, 5}, {0});
  b.Op("c", {1, 1}, {1});
  b.Op("d", {12, 12});
  CHECK(ComputeBounds(*b.Build()).critical_path == 10 + 5 + 1);
}

TEST_CASE("control edges lengthen the critical path") {
  ProblemBuilder b;
  b.Device("d0");
  b.Op("a", {10});
  b.Op("b", {3});
  b.op(1).control_inputs = {0};
  CHECK(ComputeBounds(*b.Build()).critical_path == 13);
}

TEST_CASE("work on one kind: the sum over devices and slots, rounded up") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory, 2);
  b.Op("a", {10});
  b.Op("b", {11});
  b.Op("c", {12});
  // (10 + 11 + 12) / 2 slots = 16.5.
  CHECK(ComputeBounds(*b.Build()).work == 17);
}

TEST_CASE("work on two kinds: ops go where they are comparatively cheap, one is split") {
  ProblemBuilder b = Gpus(2, 0);
  b.Op("a", {10, 40});
  b.Op("b", {10, 20});
  b.Op("c", {40, 10});
  // a wholly on d0 (10), c wholly on d1 (10), b split: 10 + 10 x = 10 + 20 (1 - x) -> x = 2/3:
  // T = 16.67.
  CHECK(ComputeBounds(*b.Build()).work == 17);
}

TEST_CASE("work on three kinds: a linear programme with a known optimum") {
  ProblemBuilder b = Gpus(3, 0);
  // Symmetric: each op is cheap (6) on its own device and dear (60) elsewhere; three of each.
  for (int i = 0; i < 9; ++i) {
    std::vector<Nanos> costs(3, 60);
    costs[i % 3] = 6;
    b.Op("op" + std::to_string(i), costs);
  }
  CHECK(ComputeBounds(*b.Build()).work == 18);
}

TEST_CASE("an op forbidden on a device counts where it may run") {
  ProblemBuilder b = Gpus(2, 0);
  b.Op("a", {kMaxNanos, 7});
  b.Op("b", {kMaxNanos, 9});
  b.Op("c", {4, 4});
  const Bounds bounds = ComputeBounds(*b.Build());
  CHECK(bounds.work == 16);
  CHECK(bounds.critical_path == 9);
  CHECK(bounds.best() == 16);
}

TEST_CASE("zero work") {
  ProblemBuilder b = Gpus(2, 0);
  b.Op("a", {0, 0});
  CHECK(ComputeBounds(*b.Build()).best() == 0);
}

// The optimum of the linear programme for two kinds in integers: ops in the order of how much
// cheaper they are on the first, which takes them until both are busy equally long; one is split.
Nanos ExactWork(std::vector<std::array<Nanos, 2>> costs, const std::array<int, 2>& slots) {
  using Wide = __int128;
  std::sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) {
    return Wide{a[0]} * b[1] < Wide{b[0]} * a[1];
  });
  Wide first = 0, second = 0;  // time on each kind, of all its slots
  for (const auto& cost : costs) second += cost[1];
  for (const auto& [here, there] : costs) {
    if ((first + here) * slots[1] >= (second - there) * slots[0]) {
      // (first + here x) / slots[0] = (second - there x) / slots[1] = T
      const Wide x = second * slots[0] - first * slots[1];
      const Wide whole = Wide{here} * slots[1] + Wide{there} * slots[0];
      const Wide time = first * whole + here * x, parts = whole * slots[0];
      return static_cast<Nanos>((time + parts - 1) / parts);
    }
    first += here;
    second -= there;
  }
  return static_cast<Nanos>((first + slots[0] - 1) / slots[0]);
}

TEST_CASE("work on two kinds is the optimum to the nanosecond") {
  Rng rng(11);
  for (int round = 0; round < 100 * EMPLACE_TEST_SCALE; ++round) {
    const std::array<int, 2> slots = {1 + UniformInt(rng, 8), 1 + UniformInt(rng, 8)};
    ProblemBuilder b;
    b.Device("d0", kUnlimitedMemory, slots[0]);
    b.Device("d1", kUnlimitedMemory, slots[1]);
    b.AllToAll(0, kGigabytePerSecond);
    // As of CPU and GPU: most ops are up to 30 times as fast on one of them, of very different
    // sizes.
    std::vector<std::array<Nanos, 2>> costs;
    for (int v = 0; v < 300; ++v) {
      const double size = std::pow(10.0, 2 + 6 * Uniform01(rng));
      const double ratio = std::pow(30.0, 1.2 * Uniform01(rng) - 0.2);
      costs.push_back({static_cast<Nanos>(size * ratio) + 1, static_cast<Nanos>(size) + 1});
      b.Op("op" + std::to_string(v), {costs.back()[0], costs.back()[1]});
    }
    CHECK(ComputeBounds(*b.Build()).work == ExactWork(costs, slots));
  }
}

// Exhaustive reference for independent ops on two unrelated devices: the fractional optimum is
// between the bound of any price and any integer assignment.
TEST_CASE("the work bound is below every assignment and above every price") {
  Rng rng(5);
  for (int round = 0; round < 100 * EMPLACE_TEST_SCALE; ++round) {
    const int num_kinds = 2 + UniformInt(rng, 3);
    ProblemBuilder b;
    for (int d = 0; d < num_kinds; ++d) b.Device("d" + std::to_string(d));
    b.AllToAll(0, kGigabytePerSecond);
    std::vector<std::vector<Nanos>> costs;
    for (int v = 0; v < 8; ++v) {
      costs.emplace_back();
      for (int d = 0; d < num_kinds; ++d) costs.back().push_back(1 + UniformInt(rng, 1000));
      b.Op("op" + std::to_string(v), costs.back());
    }
    const Nanos work = ComputeBounds(*b.Build()).work;
    for (int i = 0; i < 200; ++i) {
      std::vector<Nanos> load(num_kinds, 0);
      std::vector<double> price;
      double scale = 0;
      for (int d = 0; d < num_kinds; ++d) scale += price.emplace_back(Uniform01(rng));
      double dual = 0;
      for (const auto& row : costs) {
        const int d = UniformInt(rng, num_kinds);
        load[d] += row[d];
        double least = 1e18;
        for (int k = 0; k < num_kinds; ++k) least = std::min(least, price[k] / scale * row[k]);
        dual += least;
      }
      REQUIRE(*std::max_element(load.begin(), load.end()) >= work);
      REQUIRE(dual <= static_cast<double>(work) * (1 + 1e-9));
    }
  }
}

}  // namespace
