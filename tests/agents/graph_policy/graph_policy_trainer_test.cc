// Training the policy of `graph_policy`.

#include "agents/graph_policy/graph_policy_trainer.h"

#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

GraphPolicyConfig SmallTraining() {
  GraphPolicyConfig config;
  config.width = 8;
  config.rounds = 1;
  config.samples = 16;
  config.start = {"single", "random"};
  config.training.teacher_evaluations = 300;
  config.training.search_evaluations = 150;
  config.training.problems = 2;
  config.optimizer.schedule.learning_rate = 5e-3;
  return config;
}

TEST_CASE("equal devices are matched, others are not") {
  // Two equal GPUs and a slow one; a group of 5 and groups of 1.
  ProblemBuilder builder = Gpus(3);
  builder.Op("a", {5, 5, 9});
  for (const char* name : {"b", "c", "d"}) builder.Op(name, {1, 1, 9});
  const auto problem = builder.Build();
  // a and b change from gpu:1 to gpu:0, where a is; d stays on the slow one.
  CHECK(Aligned(*problem, {{1, 1, 0, 2}}, {{0, 1, 1, 0}}) == Placement{{0, 0, 1, 2}});
  CHECK(Aligned(*problem, {{0, 1, 1, 2}}, {{0, 1, 1, 0}}) == Placement{{0, 1, 1, 2}});
  CHECK(Aligned(*problem, {{2, 2, 0, 0}}, {{0, 0, 0, 0}}) == Placement{{2, 2, 0, 0}});
}

TEST_CASE("imitation learns what a teacher does, also for a problem it never saw") {
  const ProblemList problems = {
      Sorting("aabbab"), Sorting("abab"), Sorting("bbbaaaab"), Sorting("baabbaabab")};
  GraphPolicyConfig config = SmallTraining();
  config.training.imitation_share = 1;
  GraphPolicyTrainer trainer({problems, 1, 1, /*updates=*/120}, config);
  Simulators simulators(problems);
  for (int update = 0; update < 120; ++update) trainer.Step(simulators.all);
  const std::vector<double> imitation = Column(trainer.updates(), "imitation");
  CHECK(Mean(imitation, 100, 20) < 0.3 * Mean(imitation, 0, 3));

  const TempDir folder;
  config.policy = (folder / "policy").string();
  std::ofstream(config.policy) << PolicyOf(trainer);
  config.start = {"single"};
  config.samples = 1;  // the most probable device of every group
  config.batches = 2;
  const std::string letters = "abbbaabbabaaab";
  const auto unseen = Sorting(letters);
  GraphPolicyAgent agent({unseen, 1}, config);
  CHECK(RunAgent(agent, unseen, 100).best.outcome.step_time == 70'000'000);
}

TEST_CASE("reinforcement alone makes edits gain more often") {
  const ProblemList problems = {Sorting("aabbabbabaab"), Sorting("abababbaab")};
  GraphPolicyConfig config = SmallTraining();
  config.start = {"random"};
  config.merge = false;
  config.training.teacher_evaluations = 0;
  config.training.search_evaluations = 40;
  config.training.imitation_share = 0;
  config.training.imitation_later = 0;
  GraphPolicyTrainer trainer({problems, 1, 1, /*updates=*/150}, config);
  Simulators simulators(problems);
  for (int update = 0; update < 150; ++update) trainer.Step(simulators.all);
  const std::vector<double> gaining = Column(trainer.updates(), "best_gain");
  CHECK(Mean(gaining, 100, 50) > 1.3 * Mean(gaining, 0, 20));
}

}  // namespace
