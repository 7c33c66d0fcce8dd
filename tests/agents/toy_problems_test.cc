#include "tests/support/toy_problems.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulator.h"

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
    const Problem& problem = *toys[i].problem;
    const std::unique_ptr<Evaluator> simulator = MakeSimulator(toys[i].problem, {});
    Placement placement{std::vector<DeviceIndex>(problem.num_groups(), 0)};
    Nanos least = kMaxNanos;
    int count = 0;
    for (int digit = 0; digit < problem.num_groups();) {
      const Nanos time = simulator->Evaluate(placement).step_time;
      if (time < least) count = 0;
      least = std::min(least, time);
      if (time == least) ++count;
      for (digit = 0; digit < problem.num_groups(); ++digit) {  // the next number in base devices
        if (++placement.device[digit] < problem.num_devices()) break;
        placement.device[digit] = 0;
      }
    }
    CHECK(least == toys[i].optimum);
    CHECK(count == expected_count[i]);
  }
}

}  // namespace
