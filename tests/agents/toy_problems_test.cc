#include "tests/support/toy_problems.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Every placement, evaluated: the least step time and how many reach it.
TEST_CASE("the optima calculated by hand are those of an exhaustive search") {
  const std::vector<int> expected_count = {2, 1, 140};
  const std::vector<ToyProblem> toys = ToyProblems();
  REQUIRE(toys.size() == expected_count.size());
  for (std::size_t i = 0; i < toys.size(); ++i) {
    CAPTURE(toys[i].name);
    Nanos least = kMaxNanos;
    int count = 0;
    const auto placements = AllPlacements(*toys[i].problem);
    for (const Outcome& outcome : MakeSimulator(toys[i].problem, {})->Evaluate(placements)) {
      if (outcome.step_time < least) count = 0;
      least = std::min(least, outcome.step_time);
      if (outcome.step_time == least) ++count;
    }
    CHECK(least == toys[i].optimum);
    CHECK(count == expected_count[i]);
  }
}

}  // namespace
