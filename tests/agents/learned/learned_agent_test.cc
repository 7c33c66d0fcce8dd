// The search of `learned`, with and without its network.

#include "agents/learned/learned_agent.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "framework/base/file.h"
#include "framework/config/setting_error.h"
#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

LearnedConfig FromOneDevice(const char* ranking = "network") {
  LearnedConfig config;
  config.start = {"single"};
  config.ranking = ranking;
  config.pool = 16;
  config.tries = 6;
  config.patience = 30;
  return config;
}

TEST_CASE("saved and restored at any step it goes on bit for bit") {
  const auto problem = SmallProblem();
  for (const char* ranking : {"network", "none"}) {
    LearnedAgent agent({problem, 3}, FromOneDevice(ranking));
    SearchTrace trace = RunAgent(agent, problem, 400);
    trace.states.pop_back();  // the budget may have cut the last step short
    CHECK(trace.states.size() > 30);
    CheckGoesOn<LearnedAgent>(problem, FromOneDevice(ranking), trace);
  }
}

TEST_CASE("it finds the optima of small problems") {
  CheckFindsOptima<LearnedAgent>({}, 3000);
}

// A network that knows one feature, by how much work the aim has: mean load of the aims of the
// moves that are tried, relative to the step.
double MeanLoadOfAims(float weight) {
  const auto problem = SmallProblem(4, 40);
  Rng rng(1);
  auto scorer = std::make_shared<MoveScorer>(rng);
  for (Parameter& parameter : scorer->parameters().all()) {
    parameter.value.setZero();
    if (parameter.name == "first.weights") {
      const auto& names = MoveFeatures::Names();
      parameter.value(std::ranges::find(names, std::string("load of its aim")) - names.begin(), 0) =
          1;
    }
    if (parameter.name == "second.weights") parameter.value(0, 0) = 1;
    if (parameter.name == "last.weights") parameter.value(0, 0) = weight;
  }
  LearnedConfig config = FromOneDevice();
  config.temperature = 0;
  config.tries = config.batch = 1;
  config.moves = {.single = 1, .swap = 0, .neighbors = 0, .block = 0, .toward_neighbors = 0};
  LearnedAgent agent({problem, 1}, config, scorer);
  const auto simulator = MakeSimulator(problem, {});
  RecordingEvaluator recording(*simulator);
  agent.Step(recording);
  double sum = 0;
  constexpr int kSteps = 40;
  for (int step = 0; step < kSteps; ++step) {
    agent.Step(recording);
    const auto& placements = recording.placements();
    const Placement &tried = placements.back(), &from = placements[placements.size() - 2];
    const Outcome outcome = simulator->Evaluate(from);
    for (int g = 0; g < problem->num_groups(); ++g) {
      if (tried.device[g] == from.device[g]) continue;
      const auto busy = static_cast<double>(outcome.devices[tried.device[g]].busy);
      sum += busy / static_cast<double>(outcome.step_time) / kSteps;
    }
  }
  return sum;
}

TEST_CASE("the moves that the network ranks first are tried first") {
  CHECK(MeanLoadOfAims(1) > 2 * MeanLoadOfAims(-1));
}

TEST_CASE("settings that make no sense are named") {
  const auto refusal = [](const LearnedConfig& config) {
    return MessageOf<SettingError>([&] { LearnedAgent({SmallProblem(), 1}, config); });
  };
  LearnedConfig config;
  config.ranking = "net";
  CHECK(Contains(refusal(config), "expected \"network\" or \"none\", got \"net\""));
  config = {};
  config.pool = 0;
  CHECK(Contains(refusal(config), "pool"));
  config = {};
  config.policy = "/no/such/file";
  CHECK(Contains(refusal(config), "/no/such/file"));
  const TempDir folder;
  config.policy = (folder / "policy").string();
  std::ofstream(config.policy) << "emplace-policy 1 placeto\n";
  CHECK(Contains(refusal(config), "expected that of agent learned, got that of agent placeto"));
}

}  // namespace
