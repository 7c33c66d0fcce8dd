#include "agents/shared/policy_gradient/ppo.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Matrix ColumnMatrix(const std::vector<double>& values) {
  Matrix column(static_cast<int>(values.size()), 1);
  for (std::size_t i = 0; i < values.size(); ++i) column(i, 0) = static_cast<float>(values[i]);
  return column;
}

double Loss(const Ppo& ppo,
            const Matrix& log_probability,
            const Matrix& old,
            const Matrix& advantages,
            double kl) {
  Tape tape;
  const Var loss = ppo.Loss(tape,
                            tape.ConstantView(log_probability),
                            old,
                            advantages,
                            tape.Constant(Matrix::Constant(1, 1, static_cast<float>(kl))));
  REQUIRE(tape.rows(loss) == 1);
  REQUIRE(tape.cols(loss) == 1);
  return tape.value(loss)(0, 0);
}

TEST_CASE("with kl the loss is the mean of ratio times advantage plus the weighted divergence") {
  const Ppo ppo({.penalty = "kl", .kl_weight = 3}, "ppo");
  // ratios 0.5 / 0.25 = 2, 0.1 / 0.4 = 0.25; (2 * 3 + 0.25 * -8) / 2 + 3 * 0.5 = 2 + 1.5
  const Matrix now = ColumnMatrix({std::log(0.5), std::log(0.1)});
  const Matrix old = ColumnMatrix({std::log(0.25), std::log(0.4)});
  CHECK(Loss(ppo, now, old, ColumnMatrix({3, -8}), 0.5) == doctest::Approx(3.5));
}

TEST_CASE("with clip a ratio beyond the range counts only where it does harm") {
  const Ppo ppo({.penalty = "clip", .clip = 0.25}, "ppo");
  const auto loss = [&](double ratio, double advantage) {
    return Loss(
        ppo, ColumnMatrix({std::log(ratio)}), ColumnMatrix({0}), ColumnMatrix({advantage}), 1e9);
  };
  // A cost above the baseline: worth lowering to a ratio of 0.75, no further.
  CHECK(loss(0.5, 4) == doctest::Approx(3));
  CHECK(loss(1.1, 4) == doctest::Approx(4.4));
  CHECK(loss(2, 4) == doctest::Approx(8));
  // Below it: worth raising to 1.25.
  CHECK(loss(0.5, -4) == doctest::Approx(-2));
  CHECK(loss(1.1, -4) == doctest::Approx(-4.4));
  CHECK(loss(2, -4) == doctest::Approx(-5));
}

TEST_CASE("losses are those of plain loops, advantages by entry or by row") {
  Rng rng(1);
  for (int trial = 0; trial < 50; ++trial) {
    const int n = 1 + UniformInt(rng, 6), m = 1 + UniformInt(rng, 5);
    const Matrix now = RandomMatrix(n, m, rng, -3, 0), old = RandomMatrix(n, m, rng, -3, 0);
    const Matrix advantages = RandomMatrix(n, UniformInt(rng, 2) == 0 ? 1 : m, rng, -2, 2);
    const double clip = Uniform01(rng), weight = 10 * Uniform01(rng), kl = Uniform01(rng);
    double plain = 0, clipped = 0;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < m; ++j) {
        const double ratio = std::exp(double{now(i, j)} - double{old(i, j)});
        const double advantage = advantages(i, advantages.cols() == 1 ? 0 : j);
        plain += ratio * advantage / (n * m);
        const double within = std::min(std::max(ratio, 1 - clip), 1 + clip);
        clipped += std::max(ratio * advantage, within * advantage) / (n * m);
      }
    }
    const Ppo with_kl({.penalty = "kl", .kl_weight = weight}, "ppo");
    const Ppo with_clip({.penalty = "clip", .clip = clip}, "ppo");
    CHECK(Loss(with_kl, now, old, advantages, kl) == doctest::Approx(plain + weight * kl));
    CHECK(Loss(with_clip, now, old, advantages, kl) == doctest::Approx(clipped));
  }
}

TEST_CASE("gradients are those of finite differences") {
  Rng rng(2);
  // No ratio within a finite difference of a kink: 0.75 and 1.25 are log ratios of -0.29 and 0.22.
  Matrix change(4, 3);
  change << -0.9F, -0.1F, 0.1F, 0.6F, -0.5F, 0.05F, -0.05F, 0.4F, -0.7F, 0.9F, 0, 0.15F;
  const Matrix old = RandomMatrix(4, 3, rng, -3, 0);
  for (const char* penalty : {"kl", "clip"}) {
    CAPTURE(penalty);
    const Ppo ppo({.penalty = penalty, .clip = 0.25, .kl_weight = 2}, "ppo");
    for (const int cols : {1, 3}) {
      const Matrix advantages = RandomMatrix(4, cols, rng);
      CheckGradients(
          [&](Tape& tape, const std::vector<Var>& in) {
            const Var kl = SumAll(tape, Square(tape, in[1]));
            const Var loss = ppo.Loss(tape, in[0], old, advantages, kl);
            // A use of the second input that clip does not have by itself.
            return Add(tape, loss, SumAll(tape, in[1]));
          },
          {old + change, RandomMatrix(1, 2, rng)});
    }
  }
}

TEST_CASE("the weight doubles beyond 1.5 times the target, halves below its 1.5th part") {
  Ppo ppo({.penalty = "kl", .kl_target = 0.03, .kl_weight = 1}, "ppo");
  CHECK(ppo.needs_kl());
  for (const auto& [kl, expected] : std::vector<std::pair<double, double>>{{0.046, 2},
                                                                           {0.044, 2},
                                                                           {0.03, 2},
                                                                           {0.021, 2},
                                                                           {0.019, 1},
                                                                           {0, 0.5},
                                                                           {-1e-9, 0.25},
                                                                           {7, 0.5}}) {
    ppo.Observe(kl);
    CHECK(ppo.kl_weight() == expected);
  }
  CHECK(Loss(ppo, ColumnMatrix({0}), ColumnMatrix({0}), ColumnMatrix({1}), 0.5) == 1 + 0.5 * 0.5);
}

TEST_CASE("the weight comes back from however long a rest") {
  Ppo ppo({.penalty = "kl", .kl_weight = 2}, "ppo");
  for (int batch = 0; batch < 3000; ++batch) ppo.Observe(0);
  CHECK(ppo.kl_weight() == 2e-6);
  ppo.Observe(1);
  CHECK(ppo.kl_weight() == 4e-6);
  for (int batch = 0; batch < 3000; ++batch) ppo.Observe(1);
  CHECK(ppo.kl_weight() == 2e6);
  Ppo none({.penalty = "kl", .kl_weight = 0}, "ppo");
  none.Observe(1);
  CHECK(none.kl_weight() == 0);
}

TEST_CASE("with clip nothing is adapted and no divergence read") {
  Ppo ppo({.penalty = "clip", .kl_weight = 3}, "ppo");
  CHECK_FALSE(ppo.needs_kl());
  ppo.Observe(1);
  CHECK(ppo.kl_weight() == 3);
  Tape tape;
  const Var loss =
      ppo.Loss(tape, tape.Constant(ColumnMatrix({0})), ColumnMatrix({0}), ColumnMatrix({5}), Var{});
  CHECK(tape.value(loss)(0, 0) == 5);
}

}  // namespace
