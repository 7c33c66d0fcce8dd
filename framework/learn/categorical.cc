#include "framework/learn/categorical.h"

#include <limits>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

[[noreturn]] void ThrowNothingToChoose(Eigen::Index row) {
  throw RunError(
      fmt::format("row {} of the log-probabilities has no possible choice: every entry is "
                  "-infinity or not a number",
                  row));
}

}  // namespace

std::vector<int> SampleRows(const Matrix& log_probabilities, Rng& rng) {
  std::vector<int> drawn(log_probabilities.rows());
  Eigen::ArrayXf probability(log_probabilities.cols());
  for (Eigen::Index row = 0; row < log_probabilities.rows(); ++row) {
    probability = log_probabilities.row(row).transpose().array().exp();
    const double threshold = Uniform01(rng);
    double sum = 0;
    int chosen = -1;  // the last possible column if rounding leaves the sum below the threshold
    for (Eigen::Index col = 0; col < probability.size() && sum <= threshold; ++col) {
      if (!(probability[col] > 0)) continue;
      sum += probability[col];
      chosen = static_cast<int>(col);
    }
    if (chosen < 0) ThrowNothingToChoose(row);
    drawn[row] = chosen;
  }
  return drawn;
}

std::vector<int> ArgmaxRows(const Matrix& log_probabilities) {
  std::vector<int> best(log_probabilities.rows());
  for (Eigen::Index row = 0; row < log_probabilities.rows(); ++row) {
    float most = -std::numeric_limits<float>::infinity();
    best[row] = -1;
    for (Eigen::Index col = 0; col < log_probabilities.cols(); ++col) {
      if (!(log_probabilities(row, col) > most)) continue;
      most = log_probabilities(row, col);
      best[row] = static_cast<int>(col);
    }
    if (best[row] < 0) ThrowNothingToChoose(row);
  }
  return best;
}

}  // namespace emplace
