#include "profilers/measure/draw_placements.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("every placement is allowed, all differ, seeds repeat, longer lists begin with shorter") {
  Rng rng(1);
  for (int round = 0; round < 60; ++round) {
    RandomProblemOptions options;
    options.num_ops = 2 + UniformInt(rng, 60);
    options.num_devices = 1 + UniformInt(rng, 5);
    options.forbidden = UniformInt(rng, 2) == 1;
    options.tight_memory = false;
    const auto problem = RandomProblem(rng, options);
    const int count = UniformInt(rng, 40);
    const std::vector<LabelledPlacement> drawn = DrawPlacements(*problem, count, 5);
    CHECK(static_cast<int>(drawn.size()) <= count);
    std::set<std::string> placements;
    std::set<std::string> labels;
    for (const LabelledPlacement& d : drawn) {
      REQUIRE(d.placement.device.size() == static_cast<size_t>(problem->num_groups()));
      for (int group = 0; group < problem->num_groups(); ++group) {
        CHECK(problem->allowed(group, d.placement.device[group]));
      }
      placements.emplace(d.placement.device.begin(), d.placement.device.end());
      labels.insert(d.label);
    }
    CHECK(placements.size() == drawn.size());
    CHECK(labels.size() == drawn.size());
    const std::vector<LabelledPlacement> longer = DrawPlacements(*problem, count + 7, 5);
    REQUIRE(longer.size() >= drawn.size());
    for (size_t i = 0; i < drawn.size(); ++i) {
      CHECK(longer[i].placement == drawn[i].placement);
      CHECK(longer[i].label == drawn[i].label);
    }
  }
}

std::shared_ptr<const Problem> ChainProblem(int num_ops, int num_devices) {
  ProblemBuilder b;
  for (int d = 0; d < num_devices; ++d) b.Device("d" + std::to_string(d));
  b.AllToAll(10, kGigabytePerSecond);
  for (int v = 0; v < num_ops; ++v) {
    b.Op("op" + std::to_string(v), {10}, v == 0 ? std::vector<int>{} : std::vector{v - 1}, 8);
  }
  return b.Build();
}

int Changes(const Placement& placement) {
  int changes = 0;
  for (size_t i = 1; i < placement.device.size(); ++i) {
    changes += placement.device[i] != placement.device[i - 1];
  }
  return changes;
}

TEST_CASE("the families are what their names say") {
  const auto problem = ChainProblem(200, 3);
  const std::vector<LabelledPlacement> drawn = DrawPlacements(*problem, 60, 3);
  REQUIRE(drawn.size() == 60);
  int of_family[6] = {};
  for (const LabelledPlacement& d : drawn) {
    CAPTURE(d.label);
    if (d.label.starts_with("all on d")) {
      ++of_family[0];
      CHECK(Changes(d.placement) == 0);
      CHECK(problem->cluster().device(d.placement.device[0]).name == d.label.substr(7));
    } else if (d.label.starts_with("contiguous ")) {
      ++of_family[1];
      // A chain's group order is its own order: blocks on distinct devices.
      CHECK(Changes(d.placement) <= 2);
    } else if (d.label.starts_with("moved ")) {
      ++of_family[2];
      CHECK(Changes(d.placement) >= 1);
      CHECK(Changes(d.placement) <= 2 + 2 * 20);  // a tenth of 200 moved, two changes each
    } else if (d.label.starts_with("blocks ")) {
      ++of_family[3];
      CHECK(Changes(d.placement) <= 15);
    } else if (d.label.starts_with("scheduled ")) {
      ++of_family[5];
    } else {
      REQUIRE(d.label.starts_with("random "));
      ++of_family[4];
      CHECK(Changes(d.placement) > 80);  // 2/3 of 199 on average
    }
  }
  CHECK(of_family[0] == 3);
  for (int f = 1; f < 6; ++f) CHECK(of_family[f] >= 11);
}

TEST_CASE("the families change devices along a chain as often as their rules make them") {
  // 200 ops, 3 devices, about 120 placements of each family.
  std::map<std::string, std::vector<int>> changes;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    for (const LabelledPlacement& d : DrawPlacements(*ChainProblem(200, 3), 300, seed)) {
      changes[d.label.substr(0, d.label.find(' '))].push_back(Changes(d.placement));
    }
  }
  const auto mean = [&](const std::string& family) {
    const std::vector<int>& of_family = changes.at(family);
    CHECK(of_family.size() >= 100);
    return std::accumulate(of_family.begin(), of_family.end(), 0.0) /
           static_cast<double>(of_family.size());
  };
  // 2 or 3 pieces, of which one in about 100 is empty.
  CHECK(mean("contiguous") == doctest::Approx(1.5).epsilon(0.07));
  // 3 to 16 pieces, 8.5 cuts on average, 2/3 of which have different devices on their sides.
  CHECK(mean("blocks") == doctest::Approx(8.5 * 2 / 3).epsilon(0.1));
  // Two changes more for each of 10.5 groups that move, of which a third stays.
  CHECK(mean("moved") == doctest::Approx(1.5 + 2 * 10.5 * 2 / 3).epsilon(0.1));
  CHECK(mean("random") == doctest::Approx(199.0 * 2 / 3).epsilon(0.02));
}

TEST_CASE("list schedules use what runs side by side") {
  // 40 chains of 5 ops, 10 ns each, links that cost nearly nothing: on one device 2000 ns, on four
  // devices 500 ns at best. Schedules with few groups anywhere come near, whatever their costs.
  ProblemBuilder b;
  for (int d = 0; d < 4; ++d) b.Device("d" + std::to_string(d));
  b.AllToAll(0, kGigabytePerSecond);
  for (int v = 0; v < 200; ++v) {
    b.Op("op" + std::to_string(v), {10}, v % 5 == 0 ? std::vector<int>{} : std::vector{v - 1}, 1);
  }
  const auto problem = b.Build();
  double least = 2000;
  for (const LabelledPlacement& d : DrawPlacements(*problem, 60, 3)) {
    if (!d.label.starts_with("scheduled ")) continue;
    std::array<double, 4> load{};
    for (int group = 0; group < problem->num_groups(); ++group)
      load[d.placement.device[group]] += 10;
    least = std::min(least, *std::max_element(load.begin(), load.end()));
  }
  CHECK(least <= 700);
}

TEST_CASE("another seed draws others, except for the single devices") {
  const auto problem = ChainProblem(100, 2);
  const auto a = DrawPlacements(*problem, 20, 1), b = DrawPlacements(*problem, 20, 2);
  int common = 0;
  for (const LabelledPlacement& left : a) {
    common += std::any_of(b.begin(), b.end(), [&](const LabelledPlacement& right) {
      return left.placement == right.placement;
    });
  }
  CHECK(common >= 2);
  CHECK(common <= 4);  // short lists of cuts may coincide
}

TEST_CASE("small problems: all there is, and no endless search") {
  CHECK(DrawPlacements(*ChainProblem(1, 1), 10, 1).size() == 1);
  // Two ops on two devices: four placements.
  CHECK(DrawPlacements(*ChainProblem(2, 2), 50, 1).size() == 4);
  CHECK(DrawPlacements(*ChainProblem(3, 2), 8, 1).size() == 8);
  CHECK(DrawPlacements(*ChainProblem(5, 3), 0, 1).empty());
}

TEST_CASE("a negative count is refused") {
  CHECK(MessageOf<InputError>([] { DrawPlacements(*ChainProblem(2, 2), -1, 1); }) ==
        "number of placements to draw: -1, expected at least 0");
}

}  // namespace
