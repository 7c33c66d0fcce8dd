#include "agents/placeto/all_actions.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<EpisodeStep> Steps(const std::vector<std::vector<double>>& rewards) {
  std::vector<EpisodeStep> steps(rewards.size());
  for (std::size_t t = 0; t < rewards.size(); ++t) steps[t].rewards = rewards[t];
  return steps;
}

TEST_CASE("advantages are bounded rewards less their expectation, by hand") {
  // u = sqrt((3^2 + 1^2) / 2) = 2.236; r' = {0, 1}, {-1, 0}, {0, 0.4472}.
  const auto steps = Steps({{0, 3}, {-40, 0}, {0, 1}});
  const Matrix log_probabilities = Matrix{{0.5F, 0.5F}, {0.25F, 0.75F}, {0.5F, 0.5F}}.array().log();
  const float third = static_cast<float>(1 / std::sqrt(5.0) / 2);
  const Matrix expected{{-0.5F, 0.5F}, {-0.75F, 0.25F}, {-third, third}};
  CHECK(Distance(ActionAdvantages(steps, log_probabilities), expected) < 1e-6);
}

TEST_CASE("without a gain the unit is that of the losses, without rewards all advantages are 0") {
  const Matrix log_probabilities = Matrix::Constant(2, 2, std::log(0.5F));
  // u = sqrt((1 + 49) / 2) = 5; r' = {0, -0.2}, {-1, 0}.
  CHECK(Distance(ActionAdvantages(Steps({{0, -1}, {-7, 0}}), log_probabilities),
                 Matrix{{0.1F, -0.1F}, {-0.5F, 0.5F}}) < 1e-6);
  CHECK(ActionAdvantages(Steps({{0, 0}, {0, 0}}), log_probabilities) == Matrix::Zero(2, 2));
}

TEST_CASE("a device where the group may not run has the advantage 0") {
  Matrix log_probabilities(1, 3);
  log_probabilities << std::log(0.5F), -std::numeric_limits<float>::infinity(), std::log(0.5F);
  CHECK(Distance(ActionAdvantages(Steps({{0, 0, 2}}), log_probabilities),
                 Matrix{{-0.5F, 0, 0.5F}}) < 1e-6);
}

}  // namespace
