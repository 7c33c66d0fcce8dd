#include "framework/learn/layers.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using testing::Distance;
using testing::RandomMatrix;

float PlainSigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

const Matrix& ValueOf(const ParameterSet& parameters, const std::string& name) {
  const auto found = std::ranges::find(parameters.all(), name, &Parameter::name);
  REQUIRE(found != parameters.all().end());
  return found->value;
}

TEST_CASE("linear: Glorot weights, no bias at first, x W + b") {
  Rng rng(1);
  ParameterSet parameters;
  const Linear linear(parameters, "output", 20, 10, rng);
  const Matrix& weights = ValueOf(parameters, "output.weights");
  CHECK(weights.rows() == 20);
  CHECK(weights.cols() == 10);
  const float bound = std::sqrt(6.0F / 30);
  CHECK(weights.cwiseAbs().maxCoeff() <= bound);
  CHECK(weights.maxCoeff() > 0.9F * bound);
  CHECK(weights.minCoeff() < -0.9F * bound);
  CHECK(ValueOf(parameters, "output.bias").isZero());

  for (Parameter& parameter : parameters.all())
    parameter.value = RandomMatrix(parameter.value.rows(), 10, rng);
  for (int rows : {0, 1, 5}) {
    Tape tape;
    const Matrix x = RandomMatrix(rows, 20, rng);
    const Matrix y = (x * weights).rowwise() + ValueOf(parameters, "output.bias").row(0);
    CHECK(Distance(tape.value(linear(tape, tape.Constant(x))), y) <= 1e-5);
    CHECK(Distance(tape.value(linear.WithRelu(tape, tape.Constant(x))), y.cwiseMax(0)) <= 1e-5);
  }
}

TEST_CASE("lstm: what it begins with") {
  Rng rng(3);
  ParameterSet parameters;
  const Lstm lstm(parameters, "encoder", 5, 16, rng);
  CHECK(lstm.hidden() == 16);
  REQUIRE(parameters.all().size() == 3);
  for (const Parameter& parameter : parameters.all()) {
    CHECK(parameter.value.cols() == 64);
    Matrix others = parameter.value;
    if (parameter.name == "encoder.bias") {
      CHECK(parameter.value.middleCols(16, 16).isOnes());
      others.middleCols(16, 16).setZero();
    }
    CHECK(others.cwiseAbs().maxCoeff() <= 0.25F);  // 1 / sqrt(16)
    CHECK(others.cwiseAbs().maxCoeff() > 0.2F);
  }
  CHECK(ValueOf(parameters, "encoder.weights").rows() == 5);
  CHECK(ValueOf(parameters, "encoder.recurrent").rows() == 16);
}

// The equations of ops.h, entry by entry.
void PlainStep(const ParameterSet& parameters, const Matrix& x, Matrix& h, Matrix& c) {
  const Matrix gates =
      ((x * ValueOf(parameters, "l.weights") + h * ValueOf(parameters, "l.recurrent")).rowwise() +
       ValueOf(parameters, "l.bias").row(0));
  const auto n = h.cols();
  for (Eigen::Index row = 0; row < h.rows(); ++row) {
    for (Eigen::Index j = 0; j < n; ++j) {
      c(row, j) = PlainSigmoid(gates(row, n + j)) * c(row, j) +
                  PlainSigmoid(gates(row, j)) * std::tanh(gates(row, 2 * n + j));
      h(row, j) = PlainSigmoid(gates(row, 3 * n + j)) * std::tanh(c(row, j));
    }
  }
}

TEST_CASE("lstm: steps and the sequence in both directions agree") {
  Rng rng(4);
  for (const int steps : {0, 1, 7}) {
    ParameterSet parameters;
    const int in = 1 + UniformInt(rng, 4), hidden = 1 + UniformInt(rng, 9);
    const Lstm lstm(parameters, "l", in, hidden, rng);
    const Matrix x = RandomMatrix(steps, in, rng);
    for (const bool backward : {false, true}) {
      Tape tape;
      LstmState state = lstm.Zero(tape, 1);
      Matrix h = Matrix::Zero(1, hidden), c = h, expected(steps, 2 * hidden);
      const Var gates = lstm.InputGates(tape, tape.ConstantView(x));
      for (int i = 0; i < steps; ++i) {
        const int t = backward ? steps - 1 - i : i;
        PlainStep(parameters, x.row(t), h, c);
        expected.row(t) << h, c;
        state = lstm.StepFromGates(tape, SliceRows(tape, gates, t, 1), state);
        CHECK(Distance(tape.value(state.hidden), h) <= 1e-5);
        CHECK(Distance(tape.value(state.cell), c) <= 1e-5);
      }
      CHECK(Distance(tape.value(lstm.SequenceFromGates(tape, gates, backward)), expected) <= 1e-5);
    }
  }
}

TEST_CASE("lstm: the rows of a batch do not see each other") {
  Rng rng(6);
  ParameterSet parameters;
  const Lstm lstm(parameters, "l", 3, 4, rng);
  const Matrix x = RandomMatrix(5, 3, rng);
  Matrix h = RandomMatrix(5, 4, rng), c = RandomMatrix(5, 4, rng);
  Tape tape;
  const LstmState next = lstm.StepFromGates(
      tape, lstm.InputGates(tape, tape.Constant(x)), {tape.Constant(h), tape.Constant(c)});
  for (int row = 0; row < 5; ++row) {
    Matrix h_row = h.row(row), c_row = c.row(row);
    PlainStep(parameters, x.row(row), h_row, c_row);
    CHECK(Distance(tape.value(next.hidden).row(row), h_row) <= 1e-5);
    CHECK(Distance(tape.value(next.cell).row(row), c_row) <= 1e-5);
  }
}

}  // namespace
