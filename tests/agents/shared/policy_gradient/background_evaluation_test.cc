#include "agents/shared/policy_gradient/background_evaluation.h"

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "framework/search/meter.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<Placement> RandomPlacements(const Problem& problem, int count) {
  Rng rng(3);
  std::vector<Placement> placements;
  for (int i = 0; i < count; ++i) placements.push_back(RandomPlacement(rng, problem));
  return placements;
}

TEST_CASE("scores and records are those of one batch") {
  Rng rng(1);
  const auto problem = MixedProblem(rng, 30, 2, kUnlimitedMemory);
  const std::vector<Placement> placements = RandomPlacements(*problem, 50);
  const auto simulator = MakeSimulator(problem, {});
  MeteredEvaluator together(*simulator, {}), one_by_one(*simulator, {});
  const std::vector<Outcome> expected = together.Evaluate(placements);

  BackgroundEvaluation evaluation(one_by_one);
  for (const Placement& placement : placements) evaluation.Add(placement);
  const std::vector<Score> scores = evaluation.Finish();
  REQUIRE(scores.size() == expected.size());
  REQUIRE(one_by_one.records().size() == together.records().size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    CHECK(scores[i].step_time == expected[i].step_time);
    CHECK(one_by_one.records()[i].best_step_time == together.records()[i].best_step_time);
  }
  CHECK(one_by_one.best()->index == together.best()->index);
}

TEST_CASE("nothing to evaluate, and the end without Finish") {
  Rng rng(1);
  const auto problem = MixedProblem(rng, 10, 2, kUnlimitedMemory);
  const auto simulator = MakeSimulator(problem, {});
  CHECK(BackgroundEvaluation(*simulator).Finish().empty());
  BackgroundEvaluation abandoned(*simulator);
  for (const Placement& placement : RandomPlacements(*problem, 5)) abandoned.Add(placement);
}

TEST_CASE("what the evaluator throws arrives at Finish") {
  Rng rng(1);
  const auto problem = MixedProblem(rng, 10, 2, kUnlimitedMemory);
  const auto simulator = MakeSimulator(problem, {});
  MeteredEvaluator metered(*simulator, {.evaluations = 7});
  BackgroundEvaluation evaluation(metered);
  for (const Placement& placement : RandomPlacements(*problem, 10)) evaluation.Add(placement);
  CHECK_THROWS_AS(evaluation.Finish(), BudgetExhausted);
  CHECK(metered.records().size() == 7);
}

}  // namespace
