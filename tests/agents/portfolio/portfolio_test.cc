#include "agents/portfolio/portfolio.h"

#include <sstream>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/search/meter.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<Nanos> TimesOf(const MeteredEvaluator& meter) {
  std::vector<Nanos> times;
  for (const EvaluationRecord& record : meter.records()) times.push_back(record.step_time);
  return times;
}

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
  search.times = TimesOf(meter);
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

TEST_CASE("portfolio: threads change nothing, for the period neither") {
  Rng rng(5);
  const auto problem = MixedProblem(rng, 60, 3, 4000);
  CHECK(CheckThreads(problem, {.turn = 100, .concurrent = 5}, 4).times.size() > 10);
  const auto period = WithObjective(*problem, Objective::kPeriod);
  CHECK(CheckThreads(period, {.turn = 10}, 3).times.size() > 5);
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

TEST_CASE("portfolio: saved and loaded, it makes the evaluations that it would have made") {
  Rng rng(9);
  for (const Objective objective : {Objective::kStepTime, Objective::kPeriod}) {
    const auto problem = WithObjective(*MixedProblem(rng, 40, 3, 4000), objective);
    const auto simulator = MakeSimulator(problem, {});
    const PortfolioConfig config{.turn = 10, .concurrent = 4};
    for (const int step : {0, 1, 2, 5}) {
      CAPTURE(step);
      MeteredEvaluator before(*simulator, {}), one(*simulator, {}), other(*simulator, {});
      PortfolioAgent agent({.problem = problem, .seed = 3}, config);
      for (int i = 0; i < step; ++i) agent.Step(before);
      PortfolioAgent loaded({.problem = problem, .seed = 4}, config);
      LoadFrom(loaded, Saved(agent));
      for (int i = 0; i < 3; ++i) {
        CHECK(Saved(loaded) == Saved(agent));
        agent.Step(one);
        loaded.Step(other);
      }
      CHECK(TimesOf(other) == TimesOf(one));
      CHECK(Saved(loaded) == Saved(agent));
      CHECK(loaded.best().placement == agent.best().placement);
    }
  }
}

TEST_CASE("portfolio: the turns without a better placement and the search to begin are saved") {
  Rng rng(11);
  const auto problem = MixedProblem(rng, 16, 2, 4000);
  const auto simulator = MakeSimulator(problem, {});
  MeteredEvaluator meter(*simulator, {});
  PortfolioAgent agent({.problem = problem, .seed = 3}, {.turn = 10});
  for (int i = 0; i < 2; ++i) agent.Step(meter);
  // Before the long words of the members stand evaluations of a turn, stale turns and the index of
  // one of two multilevel searches.
  const std::string state = Saved(agent);
  std::vector<std::string> words;
  std::vector<std::size_t> begins;
  std::istringstream text(state);
  for (std::string word; words.empty() || words.back().size() < 200;) {
    REQUIRE((text >> word));
    begins.push_back(static_cast<std::size_t>(text.tellg()) - word.size());
    words.push_back(word);
  }
  const std::size_t at = words.size() - 2;
  REQUIRE(words[at] == "0");
  REQUIRE(words[at - 2] == "10");
  const auto with = [&](const std::string& stale_turns, const std::string& next) {
    return state.substr(0, begins[at - 1]) + stale_turns + "\n" + next +
           state.substr(begins[at] + words[at].size());
  };
  LoadFrom(agent, with("9", "1"));
  CHECK(Saved(agent) == with("9", "1"));
  CHECK(MessageOf<InputError>([&] {
          LoadFrom(agent, with("9", "2"));
        }).starts_with("agent state: expected a multilevel search"));
}

}  // namespace
