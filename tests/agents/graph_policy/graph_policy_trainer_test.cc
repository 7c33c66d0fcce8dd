// Training the policy of `graph_policy`.

#include "agents/graph_policy/graph_policy_trainer.h"

#include <cmath>
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

// Returns the network of a trainer's policy.
std::shared_ptr<PairNetwork> NetworkOf(GraphPolicyTrainer& trainer) {
  const TempDir folder;
  const std::string path = (folder / "policy").string();
  std::ofstream(path) << PolicyOf(trainer);
  return PairNetwork::Read(path);
}

// Computes the mean entropy of a group in double precision. Every device is allowed.
double MeanEntropy(const PairNetwork& network, const PairFeatures& features) {
  Tape tape(/*differentiable=*/false);
  const Matrix logits = tape.value(network.Logits(tape, features));
  double sum = 0;
  for (std::ptrdiff_t g = 0; g < logits.rows(); ++g) {
    const Eigen::ArrayXd odds = logits.row(g).transpose().cast<double>().array().exp();
    const Eigen::ArrayXd share = odds / odds.sum();
    sum -= (share * share.log()).sum();
  }
  return sum / static_cast<double>(logits.rows());
}

// One step of plain descent with and without the entropy differs by r w_e dH/dw, for the rate r.
TEST_CASE("the second stage descends the loss less the entropy, the first without it") {
  const ProblemList problems = {Sorting("aabbabbabaab")};
  GraphPolicyConfig config = SmallTraining();
  config.start = {"single"};
  config.training.teacher_evaluations = 0;
  config.optimizer.method = "sgd";
  config.optimizer.schedule.learning_rate = 0.5;
  config.optimizer.clip_norm = 0;
  constexpr double kEntropy = 0.25;
  const auto after_a_step = [&](double entropy, double imitation_share) {
    config.training.entropy = entropy;
    config.training.imitation_share = imitation_share;
    GraphPolicyTrainer trainer({problems, 1, 1, /*updates=*/2}, config);
    Simulators simulators(problems);
    trainer.Step(simulators.all);
    return NetworkOf(trainer);
  };
  const auto value = [](PairNetwork& network, std::size_t p) {
    return network.parameters().all()[p].value;
  };

  const auto without = after_a_step(0, 0), with = after_a_step(kEntropy, 0);
  std::vector<Matrix> change;
  double squares = 0;
  for (std::size_t p = 0; p < with->parameters().all().size(); ++p) {
    change.push_back(value(*with, p) - value(*without, p));
    squares += change.back().cast<double>().squaredNorm();
  }

  GraphPolicyTrainer untrained({problems, 1, 1, /*updates=*/2}, config);
  const auto begin = NetworkOf(untrained);
  begin->SetScale(*with);
  PairFeatures features(*problems[0]);
  const Placement single{std::vector<DeviceIndex>(problems[0]->num_groups(), 0)};
  Simulators simulators(problems);
  features.Set(single, simulators.all[0]->Evaluate(single, {.op_times = true}));
  const auto entropy_at = [&](float step) {
    const auto network = begin->Copy();
    for (std::size_t p = 0; p < change.size(); ++p) {
      network->parameters().all()[p].value += step * change[p];
    }
    return MeanEntropy(*network, features);
  };
  constexpr float kStep = 0.05F;
  const double slope = (entropy_at(kStep) - entropy_at(-kStep)) / (2.0 * kStep);
  CHECK(squares > 1e-6);
  CHECK(slope == doctest::Approx(squares / (0.5 * kEntropy)).epsilon(0.01));

  const auto plain = after_a_step(0, 1), same = after_a_step(kEntropy, 1);
  for (std::size_t p = 0; p < change.size(); ++p) CHECK(value(*plain, p) == value(*same, p));
}

}  // namespace
