#include "agents/seq2seq/seq2seq_trainer.h"

#include <doctest/doctest.h>

#include "agents/seq2seq/seq2seq_agent.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/learn/ops.h"
#include "tests/agents/seq2seq/small_seq2seq.h"
#include "tests/support/agent_contract.h"
#include "tests/support/gradients.h"
#include "tests/support/paths.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// The parameters that SavePolicy writes.
struct Network {
  Network(Seq2SeqTrainer& trainer, const Seq2SeqConfig& config, const Problem& problem) {
    const TempDir folder;
    WriteFileAtomically(folder / "policy", PolicyOf(trainer));
    policy = ReadSeq2SeqPolicy((folder / "policy").string(), config.network, problem);
    Rng rng(1);
    network.emplace(config.network, policy.vocabulary, parameters, rng);
    CopyValues(policy.parameters, parameters);
  }
  Seq2SeqPolicy policy;
  ParameterSet parameters;
  std::optional<Seq2SeqNetwork> network;
};

TEST_CASE("an update is a step on the mean of the losses, each with its own baseline") {
  const auto problems = ThreeProblems();
  for (const int epochs : {1, 3}) {
    CAPTURE(epochs);
    Seq2SeqConfig config = SmallSeq2Seq();
    config.learning.samples = 4;
    config.learning.imitation_weight = 0;
    config.learning.optimizer.method = "sgd";
    config.learning.optimizer.schedule.learning_rate = 0.5;
    config.learning.ppo.epochs = epochs;
    Seq2SeqTrainer trainer({problems, 3}, config);
    Network by_hand(trainer, config, *problems[0]);

    Recorders recorders(problems);
    trainer.Step(recorders.all);
    const Network after(trainer, config, *problems[0]);

    // Once more on one tape: sum_i w_i sum_t p / p_old + KL, or log p at first.
    Optimizer optimizer(config.learning.optimizer, by_hand.parameters, "optimizer");
    std::vector<Matrix> old(problems.size());
    double mean_cost = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      Tape tape;
      Var loss = tape.Constant(Matrix::Zero(1, 1));
      std::deque<Seq2SeqInputs> inputs;
      for (std::size_t i = 0; i < problems.size(); ++i) {
        const std::vector<Placement>& placements = recorders.recorders[i].placements();
        REQUIRE(placements.size() == 4);
        const std::vector<Score> scores = recorders.simulators.all[i]->Scores(placements);
        LearningSignal signal(config.learning, problems[i]);
        const LearningSignal::Batch batch = signal.Take(placements, scores, 0);
        if (epoch == 0) mean_cost += batch.mean_cost / 3;
        inputs.emplace_back(*problems[i], by_hand.policy.vocabulary, config.network.features);
        const auto scored = by_hand.network->Score(tape, inputs.back(), placements);
        const Var all = scored.step_log_distribution;
        if (epoch == 0) old[i] = tape.value(all);
        Matrix weights(scored.row.size(), 1), p_old(tape.rows(all), tape.cols(all));
        for (int k = 0; k < weights.rows(); ++k) weights(k, 0) = batch.weights(scored.row[k], 0);
        p_old = old[i].array().exp();
        Matrix chosen_old(weights.rows(), 1);
        for (int k = 0; k < weights.rows(); ++k) {
          const int group = problems[i]->group_order()[k / 4];
          chosen_old(k, 0) = old[i](k, placements[k % 4].device[group]);
        }
        Var surrogate = scored.step_log_probability;
        if (epoch > 0) {
          surrogate = Exp(tape, Subtract(tape, surrogate, tape.Constant(chosen_old)));
          // beta = 1; what does not depend on the parameters is left out
          const Var kl = Multiply(tape, Clamp(tape, all, -1e30F, 1), tape.Constant(p_old));
          loss = Subtract(tape, loss, Scale(tape, SumAll(tape, kl), 1 / 4.0F / 3));
        }
        const Var weighted = Multiply(tape, surrogate, tape.Constant(weights));
        const Var entropy = MeanAll(tape, scored.entropy);
        loss = Add(tape, loss, Scale(tape, SumAll(tape, weighted), 1 / 3.0F));
        const float entropy_weight = static_cast<float>(config.learning.entropy_weight);
        loss = Subtract(tape, loss, Scale(tape, entropy, entropy_weight / 3));
      }
      tape.Backward(loss);
      optimizer.Step();
    }
    for (std::size_t p = 0; p < by_hand.parameters.all().size(); ++p) {
      const Parameter& expected = by_hand.parameters.all()[p];
      const Matrix& value = after.parameters.all()[p].value;
      CAPTURE(expected.name);
      if (value.size() == 0) continue;
      CHECK((value - expected.value).cwiseAbs().maxCoeff() < 1e-5);
    }
    CHECK(Distance(after.parameters.all()[0].value, by_hand.policy.parameters.all()[0].value) > 0);
    const UpdateTable& table = trainer.updates();
    REQUIRE(table.columns[5] == "mean_cost");
    CHECK(table.values[5] == doctest::Approx(mean_cost));
  }
}

TEST_CASE("the table has a row per update with a cost per problem") {
  const auto problems = ThreeProblems();
  Seq2SeqConfig config = SmallSeq2Seq();
  config.learning.samples = 4;
  Simulators simulators(problems);
  Seq2SeqTrainer trainer({problems, 1}, config);
  for (int update = 0; update < 2; ++update) trainer.Step(simulators.all);
  const UpdateTable& table = trainer.updates();
  CHECK(table.columns == std::vector<std::string>{"evaluations",
                                                  "loss",
                                                  "entropy",
                                                  "gradient_norm",
                                                  "learning_rate",
                                                  "mean_cost",
                                                  "feasible",
                                                  "mean_cost_0",
                                                  "mean_cost_1",
                                                  "mean_cost_2"});
  REQUIRE(table.num_rows() == 2);
  const double* row = table.values.data() + 10;
  CHECK(row[0] == 2 * 3 * 4);
  CHECK(row[5] == doctest::Approx((row[7] + row[8] + row[9]) / 3));

  config.learning.ppo.epochs = 2;
  Seq2SeqTrainer ppo({problems, 1}, config);
  ppo.Step(simulators.all);
  CHECK(ppo.updates().columns[7] == "kl");
  CHECK(ppo.updates().columns[8] == "kl_weight");
  CHECK(ppo.updates().values[7] > 0);
  CHECK(ppo.updates().values[8] == 1);
}

TEST_CASE("settings that make no sense for training are refused") {
  const auto problems = ThreeProblems();
  const auto refusal = [&](const auto& change) {
    Seq2SeqConfig config = SmallSeq2Seq();
    change(config);
    return MessageOf<InputError>([&] { Seq2SeqTrainer({problems, 1}, config); });
  };
  CHECK(refusal([](auto& c) { c.learning.start.names = {"heft"}; }) ==
        "start: expected nothing while a policy is trained, got a start");
  CHECK(refusal([](auto& c) { c.policy = "some.policy"; }) ==
        "policy: expected none while a policy is trained, got \"some.policy\"");
  Rng rng(1);
  const std::vector differ = {problems[0], MixedProblem(rng, 9, 3, kUnlimitedMemory)};
  const std::string message = MessageOf<InputError>([&] {
    Seq2SeqTrainer({differ, 1}, SmallSeq2Seq());
  });
  CHECK(message.find("got 3 for graph") != std::string::npos);
  CHECK(message.find("and 4 for graph") != std::string::npos);
}

}  // namespace
