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

std::vector<int> DrawRows(const Matrix& probabilities, Rng& rng) {
  std::vector<int> drawn(probabilities.rows());
  for (Eigen::Index row = 0; row < probabilities.rows(); ++row) {
    const auto probability = probabilities.row(row);
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

}  // namespace

std::vector<std::vector<int>> SampleRows(const Matrix& log_probabilities, int count, Rng& rng) {
  Matrix probabilities(log_probabilities.rows(), log_probabilities.cols());
  Eigen::ArrayXf of_row(probabilities.cols());  // aligned, so that equal rows get equal bits
  for (Eigen::Index row = 0; row < probabilities.rows(); ++row) {
    of_row = log_probabilities.row(row).transpose().array().exp();
    probabilities.row(row) = of_row.matrix();
  }
  std::vector<std::vector<int>> drawn;
  for (; count > 0; --count) drawn.push_back(DrawRows(probabilities, rng));
  return drawn;
}

std::vector<int> SampleRows(const Matrix& log_probabilities, Rng& rng) {
  return SampleRows(log_probabilities, 1, rng).front();
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
