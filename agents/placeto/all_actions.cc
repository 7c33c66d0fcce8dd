#include "agents/placeto/all_actions.h"

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

/// Returns the root mean square of the rewards that `counts`, 0 if there are none.
template <class Counts>
double RootMeanSquare(std::span<const EpisodeStep> steps, const Counts& counts) {
  double squares = 0;
  int count = 0;
  for (const EpisodeStep& step : steps) {
    for (double reward : step.rewards) {
      if (!counts(reward)) continue;
      squares += reward * reward;
      ++count;
    }
  }
  return count > 0 ? std::sqrt(squares / count) : 0;
}

}  // namespace

Matrix ActionAdvantages(std::span<const EpisodeStep> steps, const Matrix& log_probabilities) {
  Matrix advantages = Matrix::Zero(log_probabilities.rows(), log_probabilities.cols());
  double unit = RootMeanSquare(steps, [](double reward) { return reward > 0; });
  if (unit == 0) unit = RootMeanSquare(steps, [](double reward) { return reward != 0; });
  if (unit == 0) return advantages;
  for (Eigen::Index t = 0; t < advantages.rows(); ++t) {
    const auto bounded = [&](Eigen::Index device) {
      return std::clamp(steps[t].rewards[device] / unit, -1.0, 1.0);
    };
    double mean = 0;
    for (Eigen::Index d = 0; d < advantages.cols(); ++d) {
      mean += std::exp(log_probabilities(t, d)) * bounded(d);
    }
    for (Eigen::Index d = 0; d < advantages.cols(); ++d) {
      if (!std::isfinite(log_probabilities(t, d))) continue;
      advantages(t, d) = static_cast<float>(bounded(d) - mean);
    }
  }
  return advantages;
}

}  // namespace emplace
