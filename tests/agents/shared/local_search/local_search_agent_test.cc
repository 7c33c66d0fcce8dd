#include "agents/shared/local_search/local_search_agent.h"

#include <sstream>

#include <doctest/doctest.h>

#include "agents/mcmc/mcmc.h"
#include "agents/tabu/tabu.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("a placement is within a share of another if it lacks no more memory") {
  CHECK(Within({0, 1010}, {0, 1000}, 0.01));
  CHECK_FALSE(Within({0, 1011}, {0, 1000}, 0.01));
  CHECK(Within({5, 9999}, {6, 1000}, 0));
  CHECK_FALSE(Within({7, 1}, {6, 1000}, 1));
}

TEST_CASE("a batch of neighbours: scores as evaluated one by one, and the first of the best") {
  Rng rng(3);
  const auto problem = MixedProblem(rng, 12, 2, 160);
  const auto simulator = MakeSimulator(problem, {});
  const Placement base = RandomPlacement(rng, *problem);
  const MoveProposer proposer(*problem, {}, "moves");
  NeighborBatch batch;
  for (int i = 0; i < 20; ++i) proposer.Propose(rng, base, batch.moves());
  batch.Evaluate(base, *simulator);
  REQUIRE(batch.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    ScoredPlacement at{base, {}};
    batch.MoveTo(i, at);
    CHECK(at.score == ScoreOf(simulator->Evaluate(at.placement)));
    CHECK(batch.score(batch.IndexOfBest()) <= at.score);
    if (i < batch.IndexOfBest()) CHECK(batch.score(batch.IndexOfBest()) < at.score);
  }
}

TEST_CASE("what is adopted takes the place of the starts, later only if it is better") {
  Rng rng(4);
  const auto problem = MixedProblem(rng, 20, 2, kUnlimitedMemory);
  const auto simulator = MakeSimulator(problem, {});
  ScoredPlacement slow{RandomPlacement(rng, *problem), {}}, fast = slow;
  slow.score = ScoreOf(simulator->Evaluate(slow.placement));
  TabuAgent search({problem, 1}, {});
  RecordingEvaluator evaluator(*simulator);
  search.Adopt(slow);
  CHECK(search.best().placement == slow.placement);
  CHECK(evaluator.placements().empty());
  search.Step(evaluator);
  const ScoredPlacement best = search.best();
  CHECK(best.score <= slow.score);
  fast.score = {0, best.score.step_time + 1};
  search.Adopt(fast);
  CHECK(search.best().placement == best.placement);
  fast.score = {0, best.score.step_time - 1};  // as if it were
  search.Adopt(fast);
  CHECK(search.best().placement == fast.placement);
  CHECK(search.best().score == fast.score);
}

TEST_CASE("Metropolis: cost in milliseconds, a MB of missing memory counts one") {
  Rng rng(5);
  const McmcAgent agent({MixedProblem(rng, 5, 2, kUnlimitedMemory), 1}, {.penalty = 2});
  CHECK(agent.Cost({.deficit = 0, .step_time = 3'000'000}) == doctest::Approx(3));
  CHECK(agent.Cost({.deficit = 500'000, .step_time = 3'000'000}) == doctest::Approx(4));
}

}  // namespace
