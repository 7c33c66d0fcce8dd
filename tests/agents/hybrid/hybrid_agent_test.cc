#include "agents/hybrid/hybrid_agent.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"
#include "tests/support/learning_agents.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Small enough that a few hundred evaluations see draws, refinements and restarts.
HybridConfig Quick() {
  HybridConfig config;
  config.effort = 16;
  config.samples = 4;
  config.population = 3;
  config.patience = 3;
  return config;
}

TEST_CASE("saved and restored at any step it goes on bit for bit") {
  const auto problem = SmallProblem();
  HybridConfig none = Quick(), perturbed = Quick(), drawn = Quick(), plain = Quick();
  none.refinement = "none";
  perturbed.draws = "perturbation";
  drawn.draws = "distribution";
  plain.refinement = "plain";
  for (const HybridConfig& config : {Quick(), none, perturbed, drawn, plain}) {
    HybridAgent agent({problem, 3}, config);
    SearchTrace trace = RunAgent(agent, problem, 1000);
    trace.states.pop_back();  // the budget may have cut the last step short
    CHECK(trace.states.size() > 15);
    CheckGoesOn<HybridAgent>(problem, config, trace);
  }
}

TEST_CASE("it finds the optima of small problems, each part left out, too") {
  HybridConfig perturbed, drawn, plain, nothing;
  perturbed.draws = "perturbation";
  drawn.draws = "distribution";
  plain.refinement = "plain";
  nothing.start = {"nothing"};
  for (const HybridConfig& config : {HybridConfig{}, perturbed, drawn, plain, nothing}) {
    CheckFindsOptima<HybridAgent>(config, 3000);
  }
}

TEST_CASE("the distributions begin with the shares of the starts") {
  // Two independent ops: contiguous has one on each GPU, single both on the first.
  ProblemBuilder builder = Gpus(2);
  builder.Op("a", {10, 10});
  builder.Op("b", {10, 10});
  const auto problem = builder.Build();
  HybridConfig config;
  config.start = {"single", "contiguous"};
  config.epsilon = 0;
  HybridAgent agent({problem, 1}, config);
  const auto simulator = MakeSimulator(problem, {});
  agent.Step(*simulator);
  REQUIRE(agent.elites().members().size() == 2);
  CHECK(agent.elites().members()[0].at.placement == Placement{{0, 1}});
  CHECK(agent.elites().members()[1].at.placement == Placement{{0, 0}});
  const Matrix p = agent.distributions().Probabilities();
  CHECK(p(0, 0) == doctest::Approx(1));
  CHECK(p(1, 0) == doctest::Approx(1.0 / 3));
}

TEST_CASE("every elite is refined before one is drawn") {
  const auto problem = SmallProblem(3, 30);
  HybridConfig config;
  config.effort = 10;
  config.samples = 7;
  config.patience = 1000;
  HybridAgent agent({problem, 1}, config);
  const auto simulator = MakeSimulator(problem, {});
  RecordingEvaluator evaluator(*simulator);
  agent.Step(evaluator);
  int drawn = 0;
  for (int step = 0; step < 60; ++step) {
    const auto unrefined = std::ranges::count(agent.elites().members(), false, &Elite::refined);
    const std::size_t before = evaluator.placements().size();
    agent.Step(evaluator);
    const std::size_t made = evaluator.placements().size() - before;
    CHECK(made >= (unrefined > 0 ? 10 : 7 + 10));
    // A refinement ends at the end of a pool: 32 moves and the placement itself at most.
    CHECK(made <= (unrefined > 0 ? 0 : 7) + 9 + 33);
    drawn += unrefined == 0;
  }
  CHECK(drawn > 0);
}

TEST_CASE("without refinement a step evaluates its draws and nothing else") {
  const auto problem = SmallProblem();
  HybridConfig config;
  config.refinement = "none";
  config.samples = 9;
  HybridAgent agent({problem, 1}, config);
  const auto simulator = MakeSimulator(problem, {});
  RecordingEvaluator evaluator(*simulator);
  agent.Step(evaluator);
  const std::size_t starts = evaluator.placements().size();
  for (int step = 1; step < 20; ++step) {
    agent.Step(evaluator);
    CHECK(evaluator.placements().size() == starts + 9 * step);
  }
}

std::string Refusal(const HybridConfig& config) {
  try {
    HybridAgent agent({SmallProblem(), 1}, config);
  } catch (const SettingError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("settings out of range are refused by name") {
  HybridConfig config;
  config.refinement = "all";
  CHECK(Refusal(config) == "refinement: expected \"network\", \"plain\" or \"none\", got \"all\"");
  config = {};
  config.draws = "none";
  CHECK(Refusal(config) ==
        "draws: expected \"both\", \"distribution\" or \"perturbation\", got \"none\"");
  config = {};
  config.effort = 0;
  CHECK(Refusal(config).starts_with("effort: "));
  config = {};
  config.policy = "missing.policy";
  CHECK(Refusal(config).starts_with("policy: "));
}

}  // namespace
