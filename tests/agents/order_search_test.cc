#include "agents/order_search/order_search.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"
#include "tests/support/states.h"
#include "tests/support/toy_problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

const SimulatorOptions kStreams{.semantics = Semantics::kStream, .order_may_change = true};

MeteredEvaluator::Best BestInStreams(std::shared_ptr<const Problem> problem,
                                     std::int64_t evaluations) {
  const auto simulator = MakeSimulator(problem, kStreams);
  MeteredEvaluator meter(*simulator, {.evaluations = evaluations});
  OrderSearchAgent agent({problem, 3}, {});
  try {
    while (!agent.Finished()) agent.Step(meter);
  } catch (const BudgetExhausted&) {
  }
  return *meter.best();
}

TEST_CASE("an op that another device waits for is issued first") {
  ProblemBuilder b = Gpus(2);  // 1 B/ns after 1 ns
  b.Op("long", {10, kMaxNanos});
  b.Op("short", {5, kMaxNanos}, {}, 0);
  b.Op("last", {kMaxNanos, 10}, {1});
  const auto problem = b.Build();
  // By id: long 0-10, short 10-15, last 16-26. Short first: short 0-5, last 6-16.
  CHECK(MakeSimulator(problem, kStreams)->Evaluate(Placement{{0, 0, 1}}).step_time == 26);
  const MeteredEvaluator::Best best = BestInStreams(problem, 200);
  CHECK(best.outcome.step_time == 16);
  REQUIRE(best.issue_order.size() == 3);
  CHECK(best.issue_order.front() == 1);
}

TEST_CASE("in stream semantics the best is as good in a simulator with its order") {
  Rng rng(5);
  for (int i = 0; i < 20; ++i) {
    const auto problem = RandomProblem(rng, {.num_ops = 15, .forbidden = true});
    const MeteredEvaluator::Best best = BestInStreams(problem, 3000);
    SimulatorOptions options = kStreams;
    options.issue_order = best.issue_order;
    const Outcome again = MakeSimulator(problem, options)->Evaluate(best.placement);
    REQUIRE(again.step_time == best.outcome.step_time);
    REQUIRE(again.deficit() == best.outcome.deficit());
  }
}

TEST_CASE("without an issue order placements alone are searched") {
  for (const ToyProblem& toy : ToyProblems()) {
    CAPTURE(toy.name);
    OrderSearchAgent agent({toy.problem, 1}, {});
    const SearchTrace trace = RunAgent(agent, toy.problem, 4000);
    CHECK(trace.best.outcome.step_time == toy.optimum);
    CHECK(trace.best.issue_order.empty());
  }
}

TEST_CASE("a restored search goes on with its order") {
  Rng rng(11);
  const auto problem = RandomProblem(rng, {.num_ops = 25});
  OrderSearchConfig config;
  config.batches = 2;
  config.patience = 3;
  for (const int steps : {1, 3, 4, 11}) {
    const auto a = MakeSimulator(problem, kStreams), b = MakeSimulator(problem, kStreams);
    OrderSearchAgent original({problem, 1}, config), restored({problem, 2}, config);
    for (int i = 0; i < steps; ++i) original.Step(*a);
    LoadFrom(restored, Saved(original));
    for (int i = 0; i < 12; ++i) {
      original.Step(*a);
      restored.Step(*b);
    }
    CHECK(Saved(original) == Saved(restored));
  }
}

}  // namespace
