#include "agents/shared/features.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("divided by the largest: of all entries, and only if it is positive") {
  Matrix x(2, 2);
  x << 1, 4, -8, 0;
  DivideByLargest(x);
  CHECK(x == (Matrix(2, 2) << 0.25F, 1, -2, 0).finished());
  for (float value : {0.0F, -3.0F}) {
    Matrix same = Matrix::Constant(3, 1, value);
    DivideByLargest(same);
    CHECK(same == Matrix::Constant(3, 1, value));
  }
  Matrix empty(0, 3);
  DivideByLargest(empty);
  CHECK(empty.size() == 0);
}

TEST_CASE("waves of positions: hand calculation and plain loops") {
  // sin and cos of 0.25 pi, 0.5 pi, pi
  const double root = std::sqrt(0.5);
  Matrix expected(1, 7);
  expected << 0.25F, static_cast<float>(root), static_cast<float>(root), 1, 0, 0, -1;
  CHECK(Distance(PositionWaves(std::vector<double>{0.25}, 3), expected) < 1e-6);
  CHECK(PositionWaves(std::vector<double>{0.5, 0.75}, 0) ==
        Matrix((Matrix(2, 1) << 0.5F, 0.75F).finished()));
  CHECK(PositionWaves({}, 2).rows() == 0);

  Rng rng(1);
  std::vector<double> p(20);
  for (double& position : p) position = Uniform01(rng);
  const Matrix waves = PositionWaves(p, 5);
  REQUIRE(waves.cols() == 11);
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 5; ++k) {
      const double angle = std::pow(2, k) * std::numbers::pi * p[i];
      CHECK(waves(i, 1 + 2 * k) == doctest::Approx(std::sin(angle)).scale(1));
      CHECK(waves(i, 2 + 2 * k) == doctest::Approx(std::cos(angle)).scale(1));
    }
  }
}

}  // namespace
