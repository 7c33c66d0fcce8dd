// The search of `graph_policy`, with and without its network.

#include "agents/graph_policy/graph_policy_agent.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/initial_placements/initial_placements.h"
#include "framework/config/setting_error.h"
#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

GraphPolicyConfig SmallPolicy(const char* network = "random") {
  GraphPolicyConfig config;
  config.start = {"single"};
  config.network = network;
  config.width = 4;
  config.rounds = 1;
  config.samples = 8;
  config.patience = 30;
  return config;
}

TEST_CASE("a zero-shot search ends after its batches, no worse than its starts") {
  Rng rng(8);
  for (int round = 0; round < 10 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, {.num_ops = 30});
    GraphPolicyConfig config;
    config.batches = 3;
    config.merge = false;
    GraphPolicyAgent agent({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 1000);
    CHECK(trace.finished);
    CHECK(trace.states.size() == 4);
    CHECK(trace.placements.size() <= config.start.size() + 3 * (1 + config.samples));
    const auto simulator = MakeSimulator(problem, {});
    for (const Placement& start : MakeStarts(*problem, {"single", "heft"}, rng)) {
      CHECK_FALSE(Better(simulator->Evaluate(start), trace.best.outcome));
    }
  }
}

TEST_CASE("edits that gain apart are evaluated together") {
  // Four ops of 10 ms on gpu:0, each 1 ms on the other of two equal GPUs: every move gains, and any
  // two of them gain more.
  ProblemBuilder builder = Gpus(2);
  for (int v = 0; v < 4; ++v) builder.Op(fmt::format("op{}", v), {10'000'000, 1'000'000});
  const auto problem = builder.Build();
  GraphPolicyConfig config = SmallPolicy("none");
  config.start = {"single_gpu"};
  config.samples = 4;
  config.edits = {.single = 1, .neighbors = 0, .block = 0, .whole = 0};
  for (const bool merge : {false, true}) {
    config.merge = merge;
    config.batches = 1;
    GraphPolicyAgent agent({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 1000);
    // The start, the start again for its schedule, four moves; two and four of them together.
    CHECK(trace.placements.size() == (merge ? 8 : 6));
    CHECK(trace.best.outcome.step_time == (merge ? 4'000'000 : 30'000'000));
  }
}

TEST_CASE("learning on a problem makes what gains more likely") {
  const std::string letters = "abbaabababbaabbaabab";
  const auto problem = Sorting(letters);
  const auto gaining = [&](double rate) {
    GraphPolicyConfig config = SmallPolicy();
    config.start = {"random"};
    config.samples = 32;
    config.batches = 200;
    config.learn = true;
    config.merge = false;
    config.patience = 32;
    config.perturbation = 1;  // begins anew at random: there is always something to gain
    config.optimizer.schedule.learning_rate = rate;
    GraphPolicyAgent agent({problem, 1}, config);
    RunAgent(agent, problem, 100'000);
    const std::vector<double> column = Column(*agent.updates(), "gaining");
    return Mean(column, column.size() / 2, column.size() - column.size() / 2);
  };
  CHECK(gaining(0.01) > 1.5 * gaining(1e-9));
}

TEST_CASE("settings that make no sense are named") {
  const auto refusal = [](const GraphPolicyConfig& config) {
    return MessageOf<SettingError>([&] { GraphPolicyAgent({SmallProblem(), 1}, config); });
  };
  GraphPolicyConfig config;
  config.network = "none";
  config.learn = true;
  CHECK(Contains(refusal(config), "learn: expected false with \"network: none\", got true"));
}

}  // namespace
