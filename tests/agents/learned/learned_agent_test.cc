// `learned`: levels searched by ranked moves.

#include "agents/learned/learned_agent.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "framework/base/file.h"
#include "framework/config/setting_error.h"
#include "tests/agents/learned/few_evaluations.h"
#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("saved and restored at any step it goes on bit for bit") {
  const auto problem = SmallProblem();
  for (const char* ranking : {"network", "none"}) {
    LearnedAgent agent({problem, 3}, FewEvaluations(ranking));
    SearchTrace trace = RunAgent(agent, problem, 2000);
    trace.states.pop_back();  // the budget may have cut the last step short
    CHECK(trace.states.size() > 8);
    CheckGoesOn<LearnedAgent>(problem, FewEvaluations(ranking), trace);
  }
}

TEST_CASE("it finds the optima of small problems") {
  CheckFindsOptima<LearnedAgent>({}, 3000);
}

TEST_CASE("settings that make no sense are named") {
  const auto refusal = [](const LearnedConfig& config) {
    return MessageOf<SettingError>([&] { LearnedAgent({SmallProblem(), 1}, config); });
  };
  LearnedConfig config;
  config.ranking = "net";
  CHECK(Contains(refusal(config), "expected \"network\" or \"none\", got \"net\""));
  config = {};
  config.windows = 0.75;
  config.lists = 0.5;
  CHECK(refusal(config) == "windows: expected at most 1 together with lists, got 0.75 + 0.5");
  config = {};
  config.moves = {.single = 0, .swap = 0, .neighbors = 0, .block = 0};
  CHECK(refusal(config) == "moves: expected a weight above 0, all are 0");
  config = {};
  config.policy = "/no/such/file";
  CHECK(Contains(refusal(config), "/no/such/file"));
  const TempDir folder;
  config.policy = (folder / "policy").string();
  std::ofstream(config.policy) << "emplace-policy 1 placeto\n";
  CHECK(Contains(refusal(config), "expected that of agent learned, got that of agent placeto"));
}

}  // namespace
