#include "agents/shared/policy_gradient/problem_update.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/agents/shared/policy_gradient/logits_learner.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Two placements of one decision, [2, 1] log-probabilities log p and log q, on two devices.
PolicySample TwoDecisions(Tape& tape, float p, float q) {
  Matrix picked(2, 1), all(2, 2);
  picked << std::log(p), std::log(q);
  all << std::log(p), std::log(1 - p), std::log(1 - q), std::log(q);
  PolicySample sample;
  sample.log_probability = tape.Constant(picked);
  sample.entropy = tape.Constant(Matrix::Constant(1, 1, 0.75F));
  sample.num_decisions = 3;
  sample.decisions =
      PolicySample::Decisions{sample.log_probability, tape.Constant(all), std::vector<int>{0, 1}};
  return sample;
}

TEST_CASE("the first loss weighs log-probabilities, the next ratios to those that drew") {
  PolicyGradientConfig config = Plain();
  config.ppo = {.penalty = "kl", .epochs = 2, .kl_weight = 2};
  ProblemUpdate part(config, UngroupedProblem());
  CountingEvaluator evaluator(UngroupedProblem(), -1);
  const auto scores = evaluator.Scores(kTwo);  // 2 s, 4 s
  Tape tape;
  const Var first = part.FirstLoss(tape, TwoDecisions(tape, 0.5F, 0.25F), kTwo, scores, 0);
  const double expected = (2 * std::log(0.5) + 4 * std::log(0.25)) / 2;
  CHECK(tape.value(first)(0, 0) == doctest::Approx(expected));
  CHECK(part.loss() == doctest::Approx(expected));
  CHECK(part.entropy() == doctest::Approx(0.25));
  CHECK(part.batch().mean_cost == 3);
  CHECK(part.kl() == 0);
  CHECK(part.signal().best_step_time() == 2e9);

  const Ppo ppo(config.ppo, "ppo");
  const Var next = part.NextLoss(tape, TwoDecisions(tape, 0.25F, 0.5F), ppo, 0);
  // KL(old || new) of (1/2, 1/2) to (1/4, 3/4) and of (3/4, 1/4) to (1/2, 1/2).
  const double kl =
      (0.5 * std::log(2) + 0.5 * std::log(2 / 3.0) + 0.75 * std::log(1.5) + 0.25 * std::log(0.5)) /
      2;
  CHECK(part.kl() == doctest::Approx(kl));
  // Ratios 1/2 and 2: (2 / 2 + 4 * 2) / 2, and the penalty of each placement's one decision.
  CHECK(tape.value(next)(0, 0) == doctest::Approx(4.5 + 2 * kl));
  CHECK(part.loss() == doctest::Approx(expected));  // still of the first step
}

}  // namespace
