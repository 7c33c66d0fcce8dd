#include "framework/bounds/device_sets.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/bounds/period_bound.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Nanos BoundBySets(const Problem& problem, Nanos known) {
  Nanos best = 1;
  ProveByDeviceSets(
      CompiledPeriod(problem),
      1,
      known,
      [] { return false; },
      [&](Nanos value) {
        CHECK(value > best);
        CHECK(value <= known);
        best = value;
      });
  return best;
}

TEST_CASE("sets of whole groups, by hand") {
  // Three ops of 10 on two devices: one has two of them. Half of each would take 15.
  ProblemBuilder three = Gpus(2);
  for (const char* name : {"a", "b", "c"}) three.Op(name, {10});
  const auto problem = WithObjective(*three.Build(), Objective::kPeriod);
  CHECK(BoundBySets(*problem, 100) == 20);
  CHECK(BoundBySets(*problem, 17) == 17);  // the known period is the largest bound
  // Two ops of 10 and an item of 4: together 20, apart 14. The work alone would be 10.
  CHECK(BoundBySets(*PairOfOps(), 100) == 14);
}

TEST_CASE("no bound is above the least period, and most reach it") {
  Rng rng(21);
  int reached = 0, tried = 0;
  for (int trial = 0; trial < 60 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const Nanos least = LeastPeriod(problem);
    const Nanos known = MostPeriod(CompiledPeriod(*problem));
    const Nanos bound = BoundBySets(*problem, known);
    CHECK(bound <= std::max<Nanos>(1, std::min(least, known)));
    if (least == kMaxNanos || least <= 1) continue;
    ++tried;
    reached += bound == least;
  }
  CHECK(2 * reached > tried);
}

TEST_CASE("a larger graph: sets prove more than the work") {
  Rng rng(9);
  const auto problem = LayeredPeriod(rng, {.layers = 2, .num_devices = 3, .cpu = false});
  const Nanos work = ProveBound(*problem).value;
  CHECK(BoundBySets(*problem, 2 * work) > work);
}

}  // namespace
