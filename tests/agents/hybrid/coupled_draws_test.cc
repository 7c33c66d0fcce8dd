#include "agents/hybrid/coupled_draws.h"

#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kDraws = 4000;

// A chain of four ops on three devices, all allowed but device 1 for the last.
std::shared_ptr<const Problem> ChainOfFour() {
  ProblemBuilder builder = Gpus(3);
  builder.Op("op0", {1, 1, 1}, {}, 8);
  builder.Op("op1", {1, 1, 1}, {0}, 8);
  builder.Op("op2", {1, 1, 1}, {1}, 8);
  builder.Op("op3", {1, kMaxNanos, 1}, {2}, 8);
  return builder.Build();
}

Matrix Probabilities() {
  Matrix p(4, 3);
  p << 0.2F, 0.3F, 0.5F,  //
      0.2F, 0.3F, 0.5F,   //
      0.6F, 0.3F, 0.1F,   //
      0.7F, 0, 0.3F;
  return p;
}

TEST_CASE("each group has its distribution, however much draws are coupled") {
  const auto problem = ChainOfFour();
  const Matrix p = Probabilities();
  for (const double cohesion : {0.0, 0.5, 1.0}) {
    CAPTURE(cohesion);
    Rng rng(1);
    const CoupledDraws draws(*problem, cohesion);
    Matrix share = Matrix::Zero(4, 3);
    for (int i = 0; i < kDraws; ++i) {
      const Placement placement = draws.Draw(p, rng);
      for (int g = 0; g < 4; ++g) share(g, placement.device[g]) += 1.0F / kDraws;
    }
    // Standard deviations are below 0.008.
    CHECK((share - p).cwiseAbs().maxCoeff() < 0.03);
    CHECK(share(3, 1) == 0);
  }
}

TEST_CASE("neighbours of equal distributions differ only where a new number is drawn") {
  const auto problem = ChainOfFour();
  const Matrix p = Probabilities();
  const auto differing = [&](double cohesion, int a, int b) {
    Rng rng(2);
    const CoupledDraws draws(*problem, cohesion);
    int count = 0;
    for (int i = 0; i < kDraws; ++i) {
      const Placement placement = draws.Draw(p, rng);
      count += placement.device[a] != placement.device[b];
    }
    return static_cast<double>(count) / kDraws;
  };
  // Independent draws of op0 and op1 differ with probability 1 - 0.2^2 - 0.3^2 - 0.5^2 = 0.62.
  CHECK(differing(0, 0, 1) == doctest::Approx(0.62).epsilon(0.05));
  CHECK(differing(0.75, 0, 1) == doctest::Approx(0.62 / 4).epsilon(0.15));
  CHECK(differing(1, 0, 1) == 0);
  // One number u for op1 and op2: both on 0 for u < 0.2, 1 and 0 below 0.5, 2 and 0 below 0.6, 2
  // and 1 below 0.9, both on 2 above: they differ with probability 0.7.
  CHECK(differing(1, 1, 2) == doctest::Approx(0.7).epsilon(0.05));
}

}  // namespace
