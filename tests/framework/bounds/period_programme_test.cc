#include "framework/bounds/period_programme.h"

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "framework/bounds/period_bound.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("interchangeable are devices of equal costs, memory and routes") {
  ProblemBuilder b;
  for (const char* name : {"p", "q", "r", "s"}) b.Device(name, name[0] == 'q' ? 50 : 100);
  const int slow = b.Channel("slow", 9, kGigabytePerSecond);
  b.Route(0, 2, {slow});
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {1, 1, 1, 1}, {}, 5);
  b.Op("b", {1, 1, 1, 1}, {0}, 5);
  const auto problem = b.Build();
  // p -> r is slow, which sets p apart from s (p -> r, s -> r) and r from s; q has less memory.
  CHECK(InterchangeableDevices(CompiledPeriod(*problem)) == std::vector<int>{0, 1, 2, 3});
  CHECK(InterchangeableDevices(CompiledPeriod(*PairOfOps())) == std::vector<int>{0, 0});
}

TEST_CASE("the programme's solutions are placements with their periods") {
  Rng rng(8);
  for (int trial = 0; trial < 30 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const auto simulator = MakeSimulator(problem, {});
    const CompiledPeriod compiled(*problem);
    const PeriodProgramme programme(compiled, MostPeriod(compiled));
    // Decided group by group, the least value of the others' costs is the period.
    const Placement placement = RandomPlacement(rng, *problem);
    const Outcome outcome = simulator->Evaluate(placement);
    LinearProgramme lp(programme.model);
    for (int g = 0; g < problem->num_groups(); ++g) {
      for (std::size_t i = 0; i < programme.columns[g].size(); ++i) {
        const bool here = static_cast<int>(i) == placement.device[g];
        lp.SetBounds(programme.columns[g][i], here, here);
      }
    }
    const LinearProgramme::Status status = lp.Solve({});
    REQUIRE(status != LinearProgramme::Status::kStopped);
    CHECK((status == LinearProgramme::Status::kOptimal) == outcome.feasible);
    if (!outcome.feasible) continue;
    CHECK(lp.solution()[0] * programme.unit == doctest::Approx(outcome.step_time));
    CHECK(programme.Round(lp.solution()).device == placement.device);
  }
}

}  // namespace
