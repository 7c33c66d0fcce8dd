#include "agents/shared/policy_gradient/policy_loss.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kDecisions = 6, kChoices = 3, kSamples = 2;
const std::vector<int> kChosen = {0, 2, 1, 1, 0, 2}, kSample = {0, 0, 0, 1, 1, 1};

// The second decision has no choice 0, the last none but 2.
Matrix Allowed() {
  Matrix allowed = Matrix::Ones(kDecisions, kChoices);
  allowed(1, 0) = allowed(5, 0) = allowed(5, 1) = 0;
  return allowed;
}

PolicySample Score(Tape& tape, Var logits) {
  const Matrix allowed = Allowed();
  PolicySample sample;
  sample.decisions.emplace();
  sample.decisions->log_distribution = LogSoftmax(tape, logits, &allowed);
  sample.decisions->log_probability = Pick(tape, sample.decisions->log_distribution, kChosen);
  sample.decisions->sample = kSample;
  sample.log_probability = SegmentSum(tape, sample.decisions->log_probability, kSample, kSamples);
  sample.entropy = MeanAll(tape, Entropy(tape, sample.decisions->log_distribution));
  sample.num_decisions = kDecisions / kSamples;
  return sample;
}

DrawnDecisions Drawn(const Matrix& logits) {
  Tape tape;
  return DrawnDecisions(tape, *Score(tape, tape.Constant(logits)).decisions);
}

TEST_CASE("the surrogate of PPO and its divergence are those of plain loops") {
  Rng rng(2);
  const Matrix allowed = Allowed();
  for (const bool per_decision : {false, true}) {
    const Matrix before = RandomMatrix(kDecisions, kChoices, rng);
    const Matrix after = RandomMatrix(kDecisions, kChoices, rng);
    const Matrix weights = RandomMatrix(kSamples, 1, rng);
    const auto probability = [&](const Matrix& logits, int i, int choice) {
      double sum = 0;
      for (int c = 0; c < kChoices; ++c) sum += allowed(i, c) * std::exp(double{logits(i, c)});
      return allowed(i, choice) * std::exp(double{logits(i, choice)}) / sum;
    };
    double expected = 0, divergence = 0;
    for (int i = 0; i < kDecisions; ++i) {
      expected += weights(kSample[i], 0) * probability(after, i, kChosen[i]) /
                  probability(before, i, kChosen[i]);
      for (int c = 0; c < kChoices; ++c) {
        const double p = probability(before, i, c);
        if (p > 0) divergence += p * std::log(p / probability(after, i, c));
      }
    }
    expected += 3 * divergence / kSamples;  // beta times that of a placement
    if (per_decision) expected /= kDecisions / kSamples;

    PolicyGradientConfig config;
    config.per_decision = per_decision;
    const Ppo ppo({.penalty = "kl", .kl_weight = 3}, "ppo");
    Tape tape;
    double kl = 0;
    const DrawnDecisions drawn = Drawn(before);
    const Var surrogate =
        PpoSurrogate(tape, config, ppo, Score(tape, tape.Constant(after)), weights, drawn, kl);
    CHECK(kl == doctest::Approx(divergence / kDecisions).epsilon(1e-4));
    CHECK(tape.value(surrogate)(0, 0) == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("gradients of PPO's surrogate are those of finite differences, masked choices included") {
  Rng rng(3);
  const Matrix weights = RandomMatrix(kSamples, 1, rng);
  const DrawnDecisions drawn = Drawn(RandomMatrix(kDecisions, kChoices, rng));
  const Ppo ppo({.penalty = "kl", .kl_weight = 1}, "ppo");
  CheckGradients(
      [&](Tape& tape, const std::vector<Var>& inputs) {
        double kl = 0;
        return PpoSurrogate(tape, {}, ppo, Score(tape, inputs[0]), weights, drawn, kl);
      },
      {RandomMatrix(kDecisions, kChoices, rng)});
}

TEST_CASE("where nothing has changed, PPO's gradient is the policy gradient's and there is no KL") {
  Rng rng(4);
  const Matrix logits = RandomMatrix(kDecisions, kChoices, rng);
  const Matrix weights = RandomMatrix(kSamples, 1, rng);
  const DrawnDecisions drawn = Drawn(logits);
  for (const std::string penalty : {"kl", "clip"}) {
    const Ppo ppo({.penalty = penalty}, "ppo");
    ParameterSet plain, ratios;
    double kl = 1;
    for (ParameterSet* parameters : {&plain, &ratios}) {
      Parameter& parameter = parameters->Add("logits", kDecisions, kChoices);
      parameter.value = logits;
      Tape tape;
      const PolicySample sample = Score(tape, tape.Use(parameter));
      tape.Backward(parameters == &plain ? GradientSurrogate(tape, {}, sample, weights)
                                         : PpoSurrogate(tape, {}, ppo, sample, weights, drawn, kl));
    }
    CHECK(std::abs(kl) < 1e-6);
    CHECK(Distance(plain.all()[0].gradient, ratios.all()[0].gradient) < 1e-6);
  }
}

TEST_CASE("a placement without decisions has no surrogate") {
  Tape tape;
  PolicySample sample;
  sample.decisions.emplace();
  sample.decisions->log_probability = tape.Constant(Matrix::Zero(0, 1));
  sample.decisions->log_distribution = tape.Constant(Matrix::Zero(0, kChoices));
  const DrawnDecisions drawn(tape, *sample.decisions);
  double kl = 1;
  const Var surrogate =
      PpoSurrogate(tape, {}, Ppo({}, "ppo"), sample, Matrix::Ones(kSamples, 1), drawn, kl);
  CHECK(kl == 0);
  CHECK(tape.value(surrogate)(0, 0) == 0);
}

}  // namespace
