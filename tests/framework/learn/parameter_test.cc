#include "framework/learn/parameter.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/support/death.h"

namespace {

using namespace emplace;
using testing::MessageOfAbort;

TEST_CASE("parameters: zeros, in order of creation, at addresses that stay") {
  ParameterSet parameters;
  Parameter* first = &parameters.Add("first", 2, 3);
  for (int i = 0; i < 100; ++i) parameters.Add(std::to_string(i), 1, i);
  CHECK(&parameters.all().front() == first);
  CHECK(parameters.all()[5].name == "4");
  CHECK(first->name == "first");
  CHECK(first->value == Matrix::Zero(2, 3));
  CHECK(first->gradient == Matrix::Zero(2, 3));
  CHECK(parameters.num_values() == 6 + 99 * 100 / 2);
}

TEST_CASE("parameters: a name counts once") {
  const std::string message = MessageOfAbort([] {
    ParameterSet parameters;
    parameters.Add("weights", 1, 1);
    parameters.Add("weights", 2, 2);
  });
  CHECK(message.find("weights") != std::string::npos);
}

TEST_CASE("parameters: uniform and Glorot, the same for the same seed") {
  Rng rng(5), again(5);
  ParameterSet parameters, others;
  const Matrix& uniform = parameters.AddUniform("uniform", 40, 50, 0.3F, rng).value;
  CHECK(uniform == others.AddUniform("uniform", 40, 50, 0.3F, again).value);
  CHECK(uniform.cwiseAbs().maxCoeff() <= 0.3F);
  // 2000 numbers: a mean of 0 with deviation 0.3 / sqrt(3 * 2000) = 0.004, a variance of 0.09 / 3.
  CHECK(std::abs(uniform.mean()) < 0.02);
  CHECK(uniform.array().square().mean() == doctest::Approx(0.03).epsilon(0.1));

  // sqrt(6 / (40 + 20)) = 0.3162
  const Matrix& glorot = parameters.AddGlorot("glorot", 40, 20, rng).value;
  CHECK(glorot.cwiseAbs().maxCoeff() <= 0.31623F);
  CHECK(glorot.cwiseAbs().maxCoeff() > 0.31F);
  CHECK(parameters.AddGlorot("nothing", 0, 0, rng).value.size() == 0);
}

TEST_CASE("parameters: the norm of all gradients together") {
  ParameterSet parameters;
  CHECK(parameters.GradientNorm() == 0);
  Parameter &a = parameters.Add("a", 1, 2), &b = parameters.Add("b", 2, 1);
  parameters.Add("empty", 0, 7);
  a.gradient << 1, 2;
  b.gradient << 2, 4;
  CHECK(parameters.GradientNorm() == 5);  // sqrt(1 + 4 + 4 + 16)
  // Squares that float32 cannot hold.
  a.gradient << 3e25F, 4e25F;
  b.gradient.setZero();
  CHECK(parameters.GradientNorm() == doctest::Approx(5e25));
  parameters.ClearGradients();
  CHECK(parameters.GradientNorm() == 0);
  b.gradient(0, 0) = std::nanf("");
  CHECK(std::isnan(parameters.GradientNorm()));
}

}  // namespace
