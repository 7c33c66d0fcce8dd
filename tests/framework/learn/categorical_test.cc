#include "framework/learn/categorical.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/base/error.h"

namespace {

using namespace emplace;

constexpr float kNone = -std::numeric_limits<float>::infinity();

Matrix Logs(const Matrix& probabilities) {
  return probabilities.array().log();
}

TEST_CASE("sampling: each column as often as its probability says") {
  const int draws = 20'000;
  Matrix probabilities(1, 5);
  probabilities << 0.5F, 0, 0.125F, 0.25F, 0.125F;
  const Matrix logs = Logs(probabilities).replicate(draws, 1);
  Rng rng(3);
  std::vector<int> count(5);
  for (int col : SampleRows(logs, rng)) ++count[col];
  CHECK(count[1] == 0);
  for (int col : {0, 2, 3, 4}) {
    const double p = probabilities(0, col), deviation = std::sqrt(draws * p * (1 - p));
    CHECK(std::abs(count[col] - draws * p) < 5 * deviation);
  }
}

TEST_CASE("sampling: several times as one after another") {
  Matrix probabilities(2, 3);
  probabilities << 0.5F, 0, 0.5F, 0.25F, 0.25F, 0.5F;
  Rng rng(5), same(5);
  for (const std::vector<int>& drawn : SampleRows(Logs(probabilities), 20, rng)) {
    CHECK(drawn == SampleRows(Logs(probabilities), same));
  }
}

TEST_CASE("sampling: the inverse of the distribution function, one number per row") {
  Rng rng(11), same(11);
  for (int round = 0; round < 200; ++round) {
    const int rows = UniformInt(rng, 4), cols = 1 + UniformInt(rng, 40);
    Matrix probabilities(rows, cols);
    for (float& p : probabilities.reshaped()) p = UniformInt(rng, 3) == 0 ? 0 : Uniform01(rng);
    for (int row = 0; row < rows; ++row) {
      probabilities(row, UniformInt(rng, cols)) = 1;
      probabilities.row(row) /= probabilities.row(row).sum();
    }
    same = rng;
    const std::vector<int> drawn = SampleRows(Logs(probabilities), rng);
    REQUIRE(static_cast<int>(drawn.size()) == rows);
    for (int row = 0; row < rows; ++row) {
      const double u = Uniform01(same);
      const int col = drawn[row];
      CHECK(probabilities(row, col) > 0);
      const double below = probabilities.row(row).head(col).cast<double>().sum();
      CHECK(u >= below - 1e-5);
      CHECK(u <= below + probabilities(row, col) + 1e-5);
    }
    CHECK(same == rng);
  }
}

TEST_CASE("sampling: what rounding leaves over goes to the last possible column") {
  Matrix logs(1, 3);
  logs << std::log(1e-6F), std::log(1e-6F), kNone;  // nearly every number lies above their sum
  Rng rng(1);
  for (int i = 0; i < 20; ++i) CHECK(SampleRows(logs, rng)[0] == 1);
}

TEST_CASE("argmax: the first of equals") {
  Matrix logs(3, 3);
  logs << -1, -2, -1, kNone, -5, kNone, -3, -2, -2;
  CHECK(ArgmaxRows(logs) == std::vector<int>{0, 1, 1});
  CHECK(ArgmaxRows(Matrix(0, 3)).empty());
}

TEST_CASE("rows without a choice are refused, by number") {
  Rng rng(1);
  for (float bad : {kNone, std::numeric_limits<float>::quiet_NaN()}) {
    Matrix logs = Matrix::Constant(3, 2, std::log(0.5F));
    logs.row(1).setConstant(bad);
    const char* message =
        "row 1 of the log-probabilities has no possible choice: every entry is -infinity or not a "
        "number";
    CHECK_THROWS_WITH_AS(SampleRows(logs, rng), message, RunError);
    CHECK_THROWS_WITH_AS(ArgmaxRows(logs), message, RunError);
  }
  CHECK_THROWS_AS(SampleRows(Matrix(1, 0), rng), RunError);
}

}  // namespace
