// What a schedule tells, by hand.

#include "agents/shared/schedule_facts.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/agents/shared/two_gpus.h"

namespace {

using namespace emplace;
using namespace emplace::testing;
using doctest::Approx;

TEST_CASE("slacks, waits and loads by hand") {
  const TwoGpus example;
  ScheduleFacts facts(*example.problem);
  facts.Set(example.placement, example.outcome);
  CHECK(facts.step_time() == 260);
  const auto& a = facts.group(0);
  CHECK(a.start == 0);
  CHECK(a.end == Approx(100 / 260.0));
  CHECK(a.slack == 0);
  CHECK(a.critical == Approx(100 / 260.0));
  CHECK(a.wait == 0);
  const auto& b = facts.group(1);
  CHECK(b.start == Approx(160 / 260.0));
  CHECK(b.slack == 0);
  CHECK(b.critical == Approx(100 / 260.0));
  CHECK(b.wait == 0);
  const auto& c = facts.group(2);  // could run from 200 to 260
  CHECK(c.slack == Approx(100 / 260.0));
  CHECK(c.critical == 0);
  CHECK(c.wait == Approx(100 / 260.0));
  CHECK(facts.device(0).load == Approx(160 / 260.0));
  CHECK(facts.device(1).load == Approx(100 / 260.0));
  CHECK(facts.device(0).memory == 0);
  CHECK_FALSE(facts.device(0).deficit);
  CHECK(facts.Busy(0, 0, 1) == Approx(160 / 260.0));
  CHECK(facts.Busy(0, 0, 160 / 260.0) == Approx(160 / 260.0).epsilon(0.01));
  CHECK(facts.Busy(1, 0, 160 / 260.0) == Approx(0).epsilon(0.01));
  CHECK(facts.TransferTime(0, 1, 50) == 60);
  CHECK(facts.TransferTime(1, 1, 50) == 0);
}

TEST_CASE("an op may be late no longer than what follows it on its device") {
  // first and second on one device, last on the other: first could be 30 later for its reader, but
  // second follows at once and has no slack.
  ProblemBuilder builder = Gpus(2);
  builder.Op("first", {10});
  builder.Op("second", {50}, {});
  builder.Op("reader", {19}, {0});
  const auto problem = builder.Build();
  const Placement placement{{0, 0, 1}};
  const Outcome outcome = MakeSimulator(problem, {})->Evaluate(placement, {.op_times = true});
  REQUIRE(outcome.step_time == 60);
  ScheduleFacts facts(*problem);
  facts.Set(placement, outcome);
  CHECK(facts.group(0).slack == 0);
  CHECK(facts.group(1).slack == 0);
  CHECK(facts.group(2).slack == Approx(30 / 60.0));
}

TEST_CASE("on random problems all shares are shares") {
  Rng rng(5);
  for (int round = 0; round < 50 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, {});
    const Placement placement = RandomPlacement(rng, *problem);
    const Outcome outcome = MakeSimulator(problem, {})->Evaluate(placement, {.op_times = true});
    ScheduleFacts facts(*problem);
    facts.Set(placement, outcome);
    for (int g = 0; g < problem->num_groups(); ++g) {
      const GroupFacts& group = facts.group(g);
      CHECK(group.end <= 1);
      CHECK(group.slack >= 0);
      CHECK(group.slack <= 1);
      CHECK(group.wait >= 0);
      CHECK(group.critical <= group.end - std::min(group.start, group.end) + 1e-12);
    }
  }
}

}  // namespace
