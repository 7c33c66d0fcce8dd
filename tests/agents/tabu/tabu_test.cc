#include "agents/tabu/tabu.h"

#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// One op, on a fast and a slow device: every proposal is the other device.
TEST_CASE("a move that leads nowhere better is made, and not taken back while it is tabu") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Device("gpu:1");
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("op", {10, 20});
  const auto problem = builder.Build();
  const auto simulator = MakeSimulator(problem, {});
  const auto placements_after = [&](int tenure, int steps) {
    TabuAgent agent({problem, 1}, {.start = {"single"}, .candidates = 1, .tenure = tenure});
    RecordingEvaluator evaluator(*simulator);
    for (int i = 0; i <= steps; ++i) agent.Step(evaluator);
    return evaluator.placements();
  };
  const Placement fast{{0}}, slow{{1}};
  // The start, then a proposal per step, always away from where the search is.
  CHECK(placements_after(0, 4) == std::vector{fast, slow, fast, slow, fast});
  // Each way back is refused three to six times, and taken the next time: runs of 4 to 7 equal
  // proposals, but for the first move and the run that the end cuts off.
  const std::vector<Placement> proposals = placements_after(3, 100);
  REQUIRE(proposals.size() == 101);
  CHECK(proposals[1] == slow);
  std::set<int> lengths;
  int length = 1;
  for (std::size_t i = 3; i < proposals.size(); ++i) {
    if (proposals[i] == proposals[i - 1]) {
      ++length;
    } else {
      lengths.insert(length);
      length = 1;
    }
  }
  CHECK(lengths == std::set{4, 5, 6, 7});
}

}  // namespace
