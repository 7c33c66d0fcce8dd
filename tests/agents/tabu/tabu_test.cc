#include "agents/tabu/tabu.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// One op, on a fast and a slow device: the only move from the optimum is worse, and the way back is
// tabu for exactly `tenure` steps where no chance adds to it.
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
  // Every proposal to go back for three to six steps is tabu. Aspiration is for better than the
  // best.
  const std::vector<Placement> three = placements_after(3, 5);
  CHECK(three[1] == slow);
  for (int step = 2; step <= 5; ++step) CHECK(three[step] == fast);
  const std::vector<Placement> long_after = placements_after(3, 60);
  CHECK(std::ranges::count(long_after, slow) > 60 / 9);
  CHECK(std::ranges::count(long_after, slow) < 60 / 3);
}

}  // namespace
