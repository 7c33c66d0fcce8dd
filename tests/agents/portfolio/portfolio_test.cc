#include "agents/portfolio/portfolio.h"

#include <sstream>

#include <doctest/doctest.h>

#include "framework/search/meter.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

struct PortfolioSearch {
  std::vector<Nanos> times;  // of all evaluations
  MeteredEvaluator::Best best;
  std::string state;
};

PortfolioSearch SearchPortfolio(const std::shared_ptr<const Problem>& problem,
                                const PortfolioConfig& config,
                                int threads,
                                int steps) {
  const auto simulator =
      MakeSimulator(problem, {.semantics = Semantics::kStream, .threads = threads});
  MeteredEvaluator meter(*simulator, {});
  PortfolioAgent agent({.problem = problem, .seed = 7}, config);
  for (int i = 0; i < steps; ++i) agent.Step(meter);
  PortfolioSearch search{.best = *meter.best()};
  for (const EvaluationRecord& record : meter.records()) search.times.push_back(record.step_time);
  std::ostringstream state;
  agent.Save(state);
  search.state = state.str();
  return search;
}

// @return what one thread did
PortfolioSearch CheckThreads(const std::shared_ptr<const Problem>& problem,
                             const PortfolioConfig& config,
                             int steps) {
  const PortfolioSearch one = SearchPortfolio(problem, config, 1, steps);
  for (int threads : {2, 3, 8}) {
    const PortfolioSearch several = SearchPortfolio(problem, config, threads, steps);
    CHECK(several.times == one.times);
    CHECK(several.best.placement == one.best.placement);
    CHECK(several.best.index == one.best.index);
    CHECK(several.state == one.state);
  }
  return one;
}

TEST_CASE("portfolio: threads change nothing") {
  Rng rng(5);
  for (int i = 0; i < 3; ++i) {
    const auto problem = MixedProblem(rng, 60, 3, 4000);
    const PortfolioConfig config{.turn = 100, .abreast = 4 + i};
    const PortfolioSearch one = CheckThreads(problem, config, 4);
    CHECK(one.times.size() > config.start.size() + config.abreast);
    const auto period = WithObjective(*problem, Objective::kPeriod);
    CHECK(CheckThreads(period, {.turn = 10}, 3).times.size() > config.start.size());
  }
}

TEST_CASE("portfolio: on a large graph the members take turns one after another") {
  Rng rng(8);
  const auto problem = MixedProblem(rng, 10'001, 2, 4'000'000);
  const PortfolioConfig config{.start = {"single"}, .turn = 1};
  CHECK(CheckThreads(problem, config, 2).times.size() >= 3);
}

TEST_CASE("portfolio: what one search finds the others go on from") {
  Rng rng(6);
  const auto problem = MixedProblem(rng, 80, 3, 4000);
  const auto simulator = MakeSimulator(problem, {});
  MeteredEvaluator meter(*simulator, {});
  PortfolioAgent agent({.problem = problem, .seed = 1}, {.turn = 50});
  for (int i = 0; i < 6; ++i) {
    agent.Step(meter);
    CHECK(agent.best().score == ScoreOf(meter.best()->outcome));
    CHECK(agent.best().placement == meter.best()->placement);
  }
}

}  // namespace
