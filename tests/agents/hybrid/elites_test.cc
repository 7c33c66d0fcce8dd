#include "agents/hybrid/elites.h"

#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::shared_ptr<const Problem> SixOps() {
  ProblemBuilder builder = Gpus(2);
  for (int i = 0; i < 6; ++i) builder.Op(fmt::format("op{}", i), {10, 10});
  return builder.Build();
}

Elite Of(std::vector<DeviceIndex> device, Nanos step_time, bool refined = false) {
  return {{{std::move(device)}, {0, step_time}}, refined};
}

std::vector<Nanos> Times(const Elites& elites) {
  std::vector<Nanos> times;
  for (const Elite& elite : elites.members()) times.push_back(elite.at.score.step_time);
  return times;
}

TEST_CASE("who is near a member competes with it alone") {
  const auto problem = SixOps();
  Elites elites(*problem, 3, 2);
  elites.Insert(Of({0, 0, 0, 0, 0, 0}, 50));
  elites.Insert(Of({1, 1, 1, 1, 1, 1}, 30));
  CHECK(Times(elites) == std::vector<Nanos>{30, 50});
  elites.Insert(Of({0, 0, 0, 0, 0, 1}, 60));  // one group from the first, and worse
  CHECK(Times(elites) == std::vector<Nanos>{30, 50});
  elites.Insert(Of({0, 0, 0, 0, 0, 1}, 40));  // and better
  CHECK(Times(elites) == std::vector<Nanos>{30, 40});
  elites.Insert(Of({0, 0, 0, 1, 1, 1}, 30));  // far, but as good as one
  CHECK(Times(elites) == std::vector<Nanos>{30, 40});
  elites.Insert(Of({0, 0, 1, 1, 1, 0}, 70));
  CHECK(Times(elites) == std::vector<Nanos>{30, 40, 70});
  // All three places are taken: the worst one goes.
  elites.Insert(Of({1, 1, 0, 0, 1, 0}, 80));
  CHECK(Times(elites) == std::vector<Nanos>{30, 40, 70});
  elites.Insert(Of({1, 1, 0, 0, 1, 0}, 20));
  CHECK(Times(elites) == std::vector<Nanos>{20, 30, 40});
}

TEST_CASE("less memory missing goes before less time") {
  const auto problem = SixOps();
  Elites elites(*problem, 1, 0);
  elites.Insert({{{{0, 0, 0, 0, 0, 0}}, {100, 10}}});
  elites.Insert({{{{0, 0, 0, 1, 1, 1}}, {0, 90}}});
  CHECK(Times(elites) == std::vector<Nanos>{90});
  CHECK(elites.Has({0, 90}));
  CHECK_FALSE(elites.Has({100, 10}));
}

TEST_CASE("the best that is not refined is taken") {
  const auto problem = SixOps();
  Elites elites(*problem, 4, 1);
  elites.Insert(Of({0, 0, 0, 0, 0, 0}, 10, true));
  elites.Insert(Of({1, 1, 1, 0, 0, 0}, 20));
  elites.Insert(Of({1, 1, 1, 1, 1, 1}, 30));
  Elite taken;
  REQUIRE(elites.TakeUnrefined(taken));
  CHECK(taken.at.score.step_time == 20);
  CHECK(Times(elites) == std::vector<Nanos>{10, 30});
  REQUIRE(elites.TakeUnrefined(taken));
  CHECK_FALSE(elites.TakeUnrefined(taken));
}

TEST_CASE("placements that differ by names of equal devices are near") {
  const auto different = SixOps();
  const auto equal = WithEqualKinds(*different);
  const Placement a{{0, 0, 0, 1, 1, 1}}, b{{1, 1, 1, 0, 0, 1}};
  CHECK(DistanceBetween(*different, a, b) == 5);
  CHECK(DistanceBetween(*equal, a, b) == 1);
}

}  // namespace
