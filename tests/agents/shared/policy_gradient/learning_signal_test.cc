#include "agents/shared/policy_gradient/learning_signal.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/agents/shared/policy_gradient/logits_learner.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

LearningSignal::Batch Take(LearningSignal& signal,
                           const std::vector<Placement>& placements,
                           int infeasible_device = -1,
                           std::int64_t update = 0) {
  CountingEvaluator evaluator(UngroupedProblem(), infeasible_device);
  return signal.Take(placements, evaluator.Scores(placements), update);
}

TEST_CASE("weights are advantages divided by the number of placements that count") {
  PolicyGradientConfig config = Plain();
  config.baseline = {.method = "moving_average", .decay = 0.5};
  LearningSignal signal(config, UngroupedProblem());
  CHECK(std::isnan(signal.baseline()));
  CHECK(std::isnan(signal.best_step_time()));
  const auto first = Take(signal, kTwo);  // 2 s and 4 s, mean 3 s
  CHECK(first.weights(0, 0) == -0.5F);
  CHECK(first.weights(1, 0) == 0.5F);
  CHECK(first.mean_cost == 3);
  CHECK(first.feasible == 1);
  CHECK(signal.baseline() == 3);
  CHECK(signal.best_step_time() == 2e9);
  const auto second = Take(signal, {{{1, 1, 1}}});  // 4 s
  CHECK(second.weights(0, 0) == 1);
  CHECK(signal.baseline() == 3.5);

  config.valid_only_after = 2;
  LearningSignal valid_only(config, UngroupedProblem());
  CHECK(Take(valid_only, kTwo, 1, 1).weights(1, 0) == 2);  // 2 s and 10 s, mean 6 s
  const auto after = Take(valid_only, kTwo, 1, 2);         // 2 s alone, baseline 6 s
  CHECK(after.weights(0, 0) == -4);
  CHECK(after.weights(1, 0) == 0);
  CHECK(after.feasible == 0.5);
}

TEST_CASE("it knows the best placement, becomes stale and can begin anew") {
  PolicyGradientConfig config = Plain();
  config.imitation_weight = 0.1;
  config.patience = 2;
  LearningSignal signal(config, UngroupedProblem());
  CHECK(signal.ToImitate() == nullptr);
  Take(signal, kTwo);
  REQUIRE(signal.ToImitate() != nullptr);
  CHECK(*signal.ToImitate() == kTwo[0]);
  Take(signal, kTwo);
  CHECK_FALSE(signal.Stale());
  Take(signal, kTwo);
  CHECK(signal.Stale());
  signal.Reset();
  CHECK_FALSE(signal.Stale());
  CHECK(signal.ToImitate() == nullptr);
}

}  // namespace
