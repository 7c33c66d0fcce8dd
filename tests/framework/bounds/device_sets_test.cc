#include "framework/bounds/device_sets.h"

#include <algorithm>
#include <memory>

#include <doctest/doctest.h>

#include "framework/bounds/period_bound.h"
#include "simulator/simulator.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

struct Proved {
  Nanos bound = 1;
  Nanos best = kMaxNanos;  // of the placements that were found
};

Proved ProveBySets(const std::shared_ptr<const Problem>& problem, Nanos known, bool find) {
  Proved proved;
  const auto simulator = MakeSimulator(problem, {});
  SetsProof proof{.stop = [] { return false; },
                  .told =
                      [&](Nanos value) {
                        CHECK(value > proved.bound);
                        CHECK(value <= known);
                        proved.bound = value;
                      },
                  .found = {}};
  if (find) {
    proof.found = [&](std::span<const DeviceIndex> device) {
      const Outcome outcome = simulator->Evaluate(Placement{{device.begin(), device.end()}});
      if (!outcome.feasible) return kMaxNanos;
      proved.best = std::min(proved.best, outcome.step_time);
      return outcome.step_time;
    };
  }
  ProveByDeviceSets(CompiledPeriod(*problem), 1, known, proof);
  return proved;
}

TEST_CASE("sets of whole groups, by hand") {
  // Three ops of 10 on two devices: one has two of them. Half of each would take 15.
  ProblemBuilder three = Gpus(2);
  for (const char* name : {"a", "b", "c"}) three.Op(name, {10});
  const auto problem = WithObjective(*three.Build(), Objective::kPeriod);
  CHECK(ProveBySets(problem, 100, false).bound == 20);
  CHECK(ProveBySets(problem, 17, false).bound == 17);  // the known period is the largest bound
  CHECK(ProveBySets(problem, 100, true).best == 20);
  // Two ops of 10 and an item of 4: together 20, apart 14. The work alone would be 10.
  CHECK(ProveBySets(PairOfOps(), 100, false).bound == 14);
}

TEST_CASE("no bound is above the least period, and nearly all reach it") {
  Rng rng(21);
  int proved_all = 0, tried = 0;
  for (int trial = 0; trial < 60 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const Nanos least = LeastPeriod(problem);
    const Nanos known = MostPeriod(CompiledPeriod(*problem));
    const Proved proved = ProveBySets(problem, known, true);
    CHECK(proved.bound <= std::max<Nanos>(1, std::min(least, known)));
    CHECK(proved.best >= least);
    CHECK(ProveBySets(problem, known, false).bound <= std::max<Nanos>(1, least));
    if (least == kMaxNanos || least <= 1) continue;
    ++tried;
    proved_all += proved.bound == least && proved.best == least;
  }
  MESSAGE(proved_all << " of " << tried);
  CHECK(10 * proved_all > 9 * tried);
}

TEST_CASE("a larger graph: the best placement is found and proved") {
  Rng rng(9);
  const auto problem = LayeredPeriod(rng, {.layers = 2, .num_devices = 3, .cpu = false});
  const Nanos work = ProveBound(*problem).value;
  const Proved proved = ProveBySets(problem, 2 * work, true);
  CHECK(proved.bound > work);
  CHECK(proved.bound == proved.best);
}

}  // namespace
