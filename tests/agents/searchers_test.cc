// Searches find the optimum where it is known.

#include <algorithm>
#include <array>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/genetic/genetic.h"
#include "agents/hill_climb/hill_climb.h"
#include "agents/large_neighborhood/large_neighborhood.h"
#include "agents/mcmc/mcmc.h"
#include "agents/multilevel/multilevel.h"
#include "agents/portfolio/portfolio.h"
#include "agents/random/random_agent.h"
#include "agents/simulated_annealing/simulated_annealing.h"
#include "agents/tabu/tabu.h"
#include "framework/search/outcome_table.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Outcome BestOfAll(std::shared_ptr<const Problem> problem) {
  const auto simulator = MakeSimulator(problem, {});
  const std::vector<Placement> placements = AllPlacements(*problem);
  return simulator->Evaluate(placements[IndexOfBest(simulator->Scores(placements))]);
}

template <class A>
Outcome Found(std::shared_ptr<const Problem> problem,
              std::int64_t evaluations,
              typename A::Config config = {},
              std::uint64_t seed = 5) {
  A agent({problem, seed}, config);
  return RunAgent(agent, problem, evaluations).best.outcome;
}

// One of three seeds finds the optimum of small problems.
template <class A>
void CheckFindsBest(std::int64_t evaluations, const typename A::Config& config = {}) {
  Rng rng(37);
  for (int trial = 0; trial < 8; ++trial) {
    CAPTURE(trial);
    const auto problem = MixedProblem(rng, 14, 2, trial % 2 ? 160 : kUnlimitedMemory);
    const Outcome best = BestOfAll(problem);
    CHECK(std::ranges::any_of(std::array{1, 2, 3}, [&](int seed) {
      return !Better(best, Found<A>(problem, evaluations, config, seed));
    }));
  }
}

// The searches that improve a placement, with default settings.
#define ALL_IMPROVEMENTS                                                           \
  AnnealingAgent, GeneticAgent, HillClimbAgent, LargeNeighborhoodAgent, McmcAgent, \
      MultilevelAgent, PortfolioAgent, TabuAgent

TEST_CASE_TEMPLATE("improvements find the optimum of small problems", A, ALL_IMPROVEMENTS) {
  CheckFindsBest<A>(6000);
}

TEST_CASE("variants find the optimum of small problems") {
  CheckFindsBest<HillClimbAgent>(3000, {.start = {"random"}, .accept = "first"});
  CheckFindsBest<AnnealingAgent>(6000, {.start = {"random"}, .chains = 4});
}

TEST_CASE_TEMPLATE("improvements get out of infeasible starts, and find the period",
                   A,
                   ALL_IMPROVEMENTS) {
  // Everything on one device needs 12 * 60 B. Four tensors fit on each device; three ops on each
  // take 30 ns.
  ProblemBuilder builder;
  for (int d = 0; d < 4; ++d) builder.Device(fmt::format("gpu:{}", d), 250);
  builder.AllToAll(1, kGigabytePerSecond);
  for (int v = 0; v < 12; ++v) {
    const int op = builder.Op(fmt::format("op{}", v), {10}, {}, 60);
    builder.output(op).role = TensorRole::kParameter;
  }
  const auto problem = builder.Build();
  typename A::Config config;
  config.start = {"single"};
  for (const Objective objective : {Objective::kStepTime, Objective::kPeriod}) {
    const Outcome outcome = Found<A>(WithObjective(*problem, objective), 12000, config);
    CHECK(outcome.feasible);
    CHECK(outcome.step_time == 30);
  }
}

TEST_CASE("random search finds the optimum of a tiny problem, and ends only with the budget") {
  Rng rng(19);
  const auto problem = MixedProblem(rng, 5, 2, kUnlimitedMemory);
  RandomAgent agent({problem, 5}, {});
  const SearchTrace trace = RunAgent(agent, problem, 1000);
  CHECK_FALSE(trace.finished);
  CHECK(trace.placements.size() == 1000);
  CHECK_FALSE(Better(BestOfAll(problem), trace.best.outcome));
}

TEST_CASE("the size of a batch does not change the sequence of random placements") {
  Rng rng(23);
  const auto problem = MixedProblem(rng, 10, 3, kUnlimitedMemory);
  RandomAgent small({problem, 5}, {.batch = 3}), large({problem, 5}, {.batch = 100});
  CHECK(RunAgent(small, problem, 50).placements == RunAgent(large, problem, 50).placements);
}

TEST_CASE("energy: the logarithm of the step time, and a penalty for missing memory") {
  ProblemBuilder builder;
  builder.Device("gpu:0", 300);
  builder.Device("gpu:1", 100);
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("op", {1});
  AnnealingAgent agent({builder.Build(), 1}, {});
  CHECK(agent.Energy({.step_time = 1000}) == doctest::Approx(std::log(1000.0)));
  CHECK(agent.Energy({.step_time = 0}) == 0);
  CHECK(agent.Energy({.deficit = 200, .step_time = 0}) == doctest::Approx(5 * (1 + 200.0 / 400)));
}

TEST_CASE("the temperature falls geometrically in each cycle, and each begins lower") {
  Rng rng(29);
  const auto problem = MixedProblem(rng, 20, 3, kUnlimitedMemory);
  AnnealingConfig config;
  config.reheats = 1;
  config.reheat = 0.5;
  config.final_ratio = 0.01;
  AnnealingAgent agent({problem, 1}, config);
  RunAgent(agent, problem, 1000);
  // Two cycles of 500 evaluations: at their middle a tenth of their beginning.
  const double initial = agent.Temperature(0);
  CHECK(initial > 0);
  CHECK(agent.Temperature(250) == doctest::Approx(initial * 0.1));
  CHECK(agent.Temperature(500) == doctest::Approx(initial * 0.5));
  CHECK(agent.Temperature(750) == doctest::Approx(initial * 0.05));
  CHECK(agent.Temperature(1500) == doctest::Approx(initial * 0.5));
}

}  // namespace
