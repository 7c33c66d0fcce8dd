// Training the network of `learned_local_search`.

#include "agents/learned_local_search/learned_local_search_trainer.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

LearnedLocalSearchConfig SmallTraining() {
  LearnedLocalSearchConfig config;
  config.training.samples = 64;
  config.training.batch = 64;
  config.training.most_evaluations = 200;
  config.start = {"random"};  // elsewhere hardly a move gains on problems as small as these
  return config;
}

ProblemList TrainingProblems() {
  ProblemList problems;
  for (int seed = 0; seed < 4; ++seed) {
    Rng rng(seed);
    problems.push_back(RandomProblem(
        rng, {.num_ops = 150, .num_devices = 2 + seed % 3, .ties = false, .tight_memory = false}));
  }
  return problems;
}

TEST_CASE("the best-ranked moves gain far more often than others, also on an unseen problem") {
  const ProblemList problems = TrainingProblems();
  LearnedLocalSearchConfig config = SmallTraining();
  LearnedLocalSearchTrainer trainer({problems, 1}, config);
  Simulators simulators(problems);
  for (int update = 0; update < 60; ++update) trainer.Step(simulators.all);
  const auto column = [&](const char* name) { return Column(trainer.updates(), name); };
  CHECK(Mean(column("gaining_top"), 40, 20) > 1.5 * Mean(column("gaining"), 40, 20));
  CHECK(Mean(column("loss"), 40, 20) < Mean(column("loss"), 0, 3));
  CHECK(column("samples")[0] == 256);
  CHECK(column("evaluations")[0] >= 4 * 64);
  CHECK(column("evaluations")[0] < 4 * (64 + config.tries + 1));
  CHECK(column("evaluations")[1] > column("evaluations")[0]);

  const TempDir folder;
  const std::string file = (folder / "policy").string();
  std::ostringstream policy;
  trainer.SavePolicy(policy);
  std::ofstream(file) << policy.str();
  config.policy = file;
  Rng rng(99);
  const auto unseen =
      RandomProblem(rng, {.num_ops = 150, .num_devices = 4, .ties = false, .tight_memory = false});
  const auto simulator = MakeSimulator(unseen, {});
  const auto scorer = MoveScorer::Read(file);
  RankedSearch agent({unseen, 1}, config, scorer);
  for (int step = 0; step < 10; ++step) agent.Step(*simulator);
  const auto samples = agent.Sample(8192, *simulator, rng);
  const std::vector<float> score = scorer->Score(samples.features);
  double all = 0, top = 0;
  for (int begin = 0; begin < 8192; begin += 32) {
    const auto best = std::max_element(score.begin() + begin, score.begin() + begin + 32);
    top += samples.gains[best - score.begin()] > 0;
    for (int i = begin; i < begin + 32; ++i) all += (samples.gains[i] > 0) / 32.0;
  }
  CHECK(top > 1.5 * all);
}

}  // namespace
