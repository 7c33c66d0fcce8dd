#include "agents/period_mip/period_mip.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the optimum is found and proved") {
  // Six ops of 7, 6, 5, 4, 3, 2 in a chain, 1 for each transfer, three devices: not 9 each, which
  // asks for 7 + 2, 6 + 3, 5 + 4 with five transfers. Tried out: 3^6 placements.
  ProblemBuilder b;
  for (const char* name : {"p", "q", "r"}) b.Device(name);
  b.AllToAll(0, kGigabytePerSecond);
  for (int v = 0; v < 6; ++v) {
    b.Op(std::string(1, static_cast<char>('a' + v)),
         {7 - v},
         v == 0 ? std::vector<int>{} : std::vector{v - 1},
         1);
  }
  const auto problem = WithObjective(*b.Build(), Objective::kPeriod);
  const auto outcomes = MakeSimulator(problem, {})->Evaluate(AllPlacements(*problem));
  const Nanos least = std::ranges::min(outcomes, {}, &Outcome::step_time).step_time;
  PeriodMipAgent agent({problem, 1}, {.warm_steps = 1, .warm = {.effort = 1}});
  const SearchTrace trace = RunAgent(agent, problem, 100'000);
  CHECK(trace.finished);
  CHECK(trace.best.outcome.step_time == least);
  CHECK(agent.bound() == least);
}

TEST_CASE("a budget ends the proof; what was proved until then holds") {
  Rng rng(6);
  const auto problem = LayeredPeriod(rng, {.layers = 2, .num_devices = 3});
  PeriodMipAgent agent({problem, 1}, {.warm_steps = 2, .warm = {.effort = 10}});
  const SearchTrace trace = RunAgent(agent, problem, 6);
  CHECK_FALSE(trace.finished);
  CHECK(agent.bound() > 0);
  CHECK(agent.bound() <= trace.best.outcome.step_time);
}

}  // namespace
