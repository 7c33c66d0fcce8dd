// `learned_local_search`: levels searched by ranked moves.

#include "agents/learned_local_search/learned_local_search_agent.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"
#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("settings that make no sense are named") {
  const auto refusal = [](const LearnedLocalSearchConfig& config) {
    return MessageOf<SettingError>([&] { LearnedLocalSearchAgent({SmallProblem(), 1}, config); });
  };
  LearnedLocalSearchConfig config;
  config.windows = 0.75;
  config.lists = 0.5;
  CHECK(refusal(config) == "windows: expected windows + lists of at most 1, got 0.75 + 0.5");
  config = {};
  config.moves = {.single = 0, .swap = 0, .neighbors = 0, .block = 0};
  CHECK(refusal(config) ==
        "moves: expected a weight above 0 of single, swap, neighbors or block, all are 0");
  config = {};
  const TempDir folder;
  config.policy = (folder / "policy").string();
  std::ofstream(config.policy) << "emplace-policy 1 placeto\n";
  CHECK(Contains(refusal(config),
                 "expected that of agent learned_local_search, got that of agent placeto"));
}

TEST_CASE("the first cycle searches the given groups alone, further cycles have levels") {
  Rng rng(4);
  const auto problem = RandomProblem(rng, {.num_ops = 60, .num_devices = 3});
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  const auto steps = [&](int coarsest, int flat_cycles, int count) {
    LearnedLocalSearchConfig config;
    config.ranking = "none";
    config.coarsest = coarsest;
    config.flat_cycles = flat_cycles;
    config.effort = 64;
    LearnedLocalSearchAgent agent({problem, 1}, config);
    RecordingEvaluator evaluator(*simulator);
    for (int i = 0; i < count; ++i) agent.Step(evaluator);
    return evaluator.placements();
  };
  const int groups = problem->num_groups();  // the first step evaluates the starts
  CHECK(steps(8, 1, 2) == steps(groups, 0, 2));
  CHECK(steps(8, 0, 2) != steps(groups, 0, 2));
  CHECK(steps(8, 1, 3) != steps(groups, 0, 3));
}

}  // namespace
