#include "framework/bounds/period_bound.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("every method in its turn, with its name") {
  const auto problem = PairOfOps();
  CHECK(ProveBound(*problem).value == 10);  // 20 of work on two devices
  CHECK(ProveBound(*problem).method == "work");
  std::vector<std::string> methods;
  const auto prove = [&](const Problem& of) {
    methods.clear();
    return ProveBound(
        of, {.seconds = 60, .improved = [&](const LowerBound& b) { methods.push_back(b.method); }});
  };
  const LowerBound cut = prove(*problem);
  CHECK(cut.value == 14);
  CHECK(cut.method == "cuts");
  CHECK(methods.front() == "work");
  CHECK(methods.back() == "cuts");
  // Three ops of 10 on two devices: work, cuts and spreading share them out, 15.
  ProblemBuilder three = Gpus(2);
  for (const char* name : {"a", "b", "c"}) three.Op(name, {10});
  const LowerBound whole = prove(*WithObjective(*three.Build(), Objective::kPeriod));
  CHECK(whole.value == 20);
  CHECK(whole.method == "device_sets");
  CHECK(methods.back() == "device_sets");
  // With 13 known nothing is better apart, at 10 + 4 each, nor together, at 20.
  CHECK(ProveBound(*problem, {.seconds = 60, .known = 13}).value == 13);

  ProblemBuilder b = Gpus(2);
  b.Op("dear", {30});
  b.Op("cheap", {10});
  const LowerBound group = ProveBound(*WithObjective(*b.Build(), Objective::kPeriod));
  CHECK(group.value == 30);
  CHECK(group.method == "group");
}

TEST_CASE("no bound is above the least period, and branch and bound reaches it") {
  Rng rng(7);
  int cut = 0, spread = 0;
  for (int trial = 0; trial < 60 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const Nanos least = LeastPeriod(problem);
    LowerBound last;
    const LowerBound best =
        ProveBound(*problem, {.seconds = 60, .improved = [&](const LowerBound& bound) {
                                CHECK(bound.value <= least);
                                cut += bound.method == "cuts";
                                spread += bound.method == "spreading";
                                last = bound;
                              }});
    CHECK(best.value == last.value);
    const CompiledPeriod compiled(*problem);
    CHECK(best.value == std::min(least, MostPeriod(compiled)));
    // With the optimum known, and with a worse one, nothing else comes out.
    if (least == kMaxNanos || least == 0) continue;
    CHECK(ProveBound(*problem, {.seconds = 60, .known = least}).value == least);
    CHECK(ProveBound(*problem, {.seconds = 60, .known = least + 3}).value == least);
  }
  CHECK(cut > 0);
  CHECK(spread > 0);
}

TEST_CASE("a larger graph: spreading proves more than the work") {
  Rng rng(9);
  const auto problem = LayeredPeriod(rng, {.layers = 2, .num_devices = 3, .cpu = false});
  const LowerBound work = ProveBound(*problem);
  const LowerBound spread = ProveBound(*problem, {.seconds = 2});
  CHECK(spread.value > work.value);
}

}  // namespace
