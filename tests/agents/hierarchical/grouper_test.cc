#include "agents/hierarchical/grouper.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("groups are drawn with the probabilities of the softmax") {
  Rng rng(4);
  // Rows 0 .. n - 1 have p = 1/7, 2/7, 4/7; far from 0, so that exp of the logits would overflow.
  constexpr int kRows = 40'000;
  Matrix logits(kRows, 3);
  logits.rowwise() = Eigen::RowVector3f(std::log(1.0F), std::log(2.0F), std::log(4.0F));
  logits.array() += 300;
  std::vector<int> counts(3, 0);
  for (int group : SampleGroups(logits, rng)) ++counts[group];
  for (int group = 0; group < 3; ++group) {
    const double p = (1 << group) / 7.0;
    CHECK(std::abs(counts[group] - kRows * p) < 5 * std::sqrt(kRows * p * (1 - p)));
  }
}

TEST_CASE("each row takes one number from the generator") {
  Rng rng(9), copy(9);
  Rng values(1);
  Matrix logits(50, 7);
  for (float& x : logits.reshaped()) x = static_cast<float>(4 * Uniform01(values));
  const std::vector<int> groups = SampleGroups(logits, rng);
  for (int row = 0; row < 50; ++row) {
    double sum = 0, below = 0;
    for (int c = 0; c < 7; ++c) sum += std::exp(double{logits(row, c)});
    for (int c = 0; c < groups[row]; ++c) below += std::exp(double{logits(row, c)});
    const double drawn = Uniform01(copy);
    CHECK(drawn >= below / sum - 1e-6);
    CHECK(drawn <= (below + std::exp(double{logits(row, groups[row])})) / sum + 1e-6);
  }
  CHECK(rng == copy);
}

TEST_CASE("one group, no rows, columns that are never drawn") {
  Rng rng(2);
  CHECK(SampleGroups(Matrix::Zero(3, 1), rng) == std::vector<int>{0, 0, 0});
  CHECK(SampleGroups(Matrix(0, 4), rng).empty());
  Matrix logits = Matrix::Zero(200, 3);
  logits.col(2).setConstant(-std::numeric_limits<float>::infinity());
  logits.col(0).setConstant(-1000);
  for (int group : SampleGroups(logits, rng)) CHECK(group == 1);
  logits(7, 1) = std::numeric_limits<float>::quiet_NaN();
  CHECK(MessageOf<RunError>([&] { SampleGroups(logits, rng); }) ==
        "unit 7: the logits of its groups are not numbers");
}

}  // namespace
