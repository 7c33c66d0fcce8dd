#include "agents/hierarchical/logits_noise.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"

namespace {

using namespace emplace;

TEST_CASE("noise has the deviation asked for and no mean; without it nothing is drawn") {
  // Root mean square of the logits: sqrt((1 + 49) / 2) = 5; half of it: 2.5.
  Matrix logits(100, 200);
  for (int r = 0; r < 100; ++r) logits.row(r).setConstant(r % 2 == 0 ? 1.0F : -7.0F);
  Rng rng(3), untouched(3);
  Tape tape;
  const Var x = tape.Constant(logits);
  CHECK(WithNoise(tape, x, 0, rng).id == x.id);
  CHECK(rng == untouched);
  const Matrix noise = tape.value(WithNoise(tape, x, 0.5, rng)) - logits;
  CHECK(rng != untouched);
  CHECK(std::abs(noise.mean()) < 5 * 2.5 / std::sqrt(20'000.0));
  CHECK(std::sqrt(noise.squaredNorm() / 20'000) == doctest::Approx(2.5).epsilon(0.03));
}

TEST_CASE("the gradient goes to the logits as if there were no noise") {
  ParameterSet set;
  Rng rng(4);
  Parameter& logits = set.AddUniform("logits", 3, 4, 1.0F, rng);
  Tape tape;
  tape.Backward(SumAll(tape, WithNoise(tape, tape.Use(logits), 2, rng)));
  CHECK(logits.gradient == Matrix::Ones(3, 4));
}

}  // namespace
