#include "framework/learn/tape.h"

#include <limits>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/support/death.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using testing::Distance;
using testing::MessageOfAbort;
using testing::RandomMatrix;

constexpr float kTapeNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kTapeInfinity = std::numeric_limits<float>::infinity();

Matrix Scalar(float x) {
  return Matrix::Constant(1, 1, x);
}

TEST_CASE("tape: a derivative by hand") {
  // loss = sum((x w)^2), x = [1 2], w = [3 4]^T: x w = 11, d loss / d w = 2 * 11 * x^T = [22 44]^T.
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 2, 1);
  w.value << 3, 4;
  Matrix x(1, 2);
  x << 1, 2;
  Tape tape;
  const Var product = MatMul(tape, tape.Constant(x), tape.Use(w));
  const Var loss = SumAll(tape, Square(tape, product));
  tape.Backward(loss);
  CHECK(tape.value(loss)(0, 0) == 121);
  CHECK(tape.gradient(product)(0, 0) == 22);
  CHECK(w.gradient(0, 0) == 22);
  CHECK(w.gradient(1, 0) == 44);

  // A second recording adds to it.
  tape.Clear();
  CHECK(tape.num_nodes() == 0);
  tape.Backward(SumAll(tape, tape.Use(w)));
  CHECK(w.gradient(0, 0) == 23);
  CHECK(w.gradient(1, 0) == 45);
}

TEST_CASE("tape: leaves") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 1, 1);
  Tape tape;
  const Matrix outside = Matrix::Ones(2, 3);
  const Var view = tape.ConstantView(outside), copy = tape.Constant(outside), leaf = tape.Use(w);
  CHECK(&tape.value(view) == &outside);
  CHECK(&tape.value(copy) != &outside);
  CHECK(&tape.value(leaf) == &w.value);
  CHECK(tape.Use(w).id == leaf.id);
  CHECK(tape.rows(view) == 2);
  CHECK(tape.cols(view) == 3);
  CHECK(!tape.needs_gradient(view));
  CHECK(!tape.needs_gradient(copy));
  CHECK(tape.needs_gradient(leaf));
  CHECK(!tape.needs_gradient(Add(tape, view, copy)));
  CHECK(tape.needs_gradient(Add(tape, view, leaf)));
}

TEST_CASE("tape: constants and what the loss does not depend on get no gradient") {
  ParameterSet parameters;
  Parameter &used = parameters.Add("used", 1, 1), &unused = parameters.Add("unused", 1, 1);
  Tape tape;
  const Var constant = tape.Constant(Scalar(2));
  const Var beside = Square(tape, tape.Use(unused));
  const Var loss = Multiply(tape, tape.Use(used), constant);
  const Var after = Square(tape, loss);
  tape.Backward(loss);
  CHECK(used.gradient(0, 0) == 2);
  CHECK(unused.gradient(0, 0) == 0);
  for (const Var x : {constant, beside, after}) CHECK(tape.gradient(x).size() == 0);
}

TEST_CASE("tape: one that is not differentiable takes parameters as constants") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 2, 2);
  w.value.setOnes();
  Tape tape(false);
  const Var leaf = tape.Use(w), squares = Square(tape, leaf);
  CHECK(&tape.value(leaf) == &w.value);
  CHECK(tape.Use(w).id == leaf.id);
  CHECK(!tape.needs_gradient(leaf));
  CHECK(!tape.needs_gradient(squares));
  const Var loss = SumAll(tape, squares);
  CHECK(tape.value(loss)(0, 0) == 4);
  tape.Backward(loss);
  CHECK(w.gradient.isZero());
}

TEST_CASE("tape: a gradient to be written whole, once") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 2, 3);
  Tape tape;
  const Var leaf = tape.Use(w);
  CHECK(tape.FreshGradient(leaf) == nullptr);  // a parameter's is added to
  const Var x = Scale(tape, leaf, 2);
  Matrix* fresh = tape.FreshGradient(x);
  REQUIRE(fresh != nullptr);
  CHECK(fresh->rows() == 2);
  CHECK(fresh->cols() == 3);
  fresh->setOnes();
  CHECK(tape.FreshGradient(x) == nullptr);
  CHECK(tape.MutableGradient(x).isOnes());
}

TEST_CASE("tape: the loss may be a parameter or a constant") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 1, 1);
  Tape tape;
  tape.Backward(tape.Use(w));
  CHECK(w.gradient(0, 0) == 1);
  tape.Clear();
  tape.Backward(tape.Constant(Scalar(3)));
  CHECK(w.gradient(0, 0) == 1);
}

TEST_CASE("tape: outer products of many uses equal the sum of each") {
  Rng rng(3);
  for (int large : {3, 2048, 3000}) {  // more rows than are stacked at a time
    ParameterSet parameters;
    Parameter& w = parameters.AddUniform("w", 5, 4, 1, rng);
    Tape tape;
    Matrix expected = Matrix::Zero(5, 4);
    Var loss = tape.Constant(Scalar(0));
    for (int rows : {1, 0, 700, 7, large, 1500, 2}) {
      const Matrix x = RandomMatrix(rows, 5, rng), dy = RandomMatrix(rows, 4, rng);
      const Var y = MatMul(tape, tape.Constant(x), tape.Use(w));
      loss = Add(tape, loss, SumAll(tape, Multiply(tape, y, tape.Constant(dy))));
      expected += (x.cast<double>().transpose() * dy.cast<double>()).cast<float>();
    }
    tape.Backward(loss);
    CHECK(Distance(w.gradient, expected) <= 1e-3);
  }
}

TEST_CASE("tape: the same operations give the same bytes") {
  const auto gradient = [] {
    Rng rng(4);
    ParameterSet parameters;
    Parameter& w = parameters.AddUniform("w", 30, 50, 1, rng);
    Tape tape;
    Var x = tape.Constant(RandomMatrix(8, 30, rng)), loss = tape.Constant(Scalar(0));
    for (int step = 0; step < 20; ++step) {
      loss = Add(tape, loss, SumAll(tape, Tanh(tape, MatMul(tape, x, tape.Use(w)))));
    }
    tape.Backward(loss);
    return w.gradient;
  };
  CHECK(gradient() == gradient());
}

TEST_CASE("tape: bytes of values and gradients, not of parameters and views") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 10, 10);
  const Matrix outside = Matrix::Ones(10, 10);
  Tape tape;
  CHECK(tape.bytes() == 0);
  const Var product = MatMul(tape, tape.ConstantView(outside), tape.Use(w));
  CHECK(tape.bytes() == 4 * 100);
  const Var loss = SumAll(tape, product);
  CHECK(tape.bytes() == 4 * 101);
  tape.Backward(loss);
  CHECK(tape.bytes() == 2 * 4 * 101);
  tape.Clear();
  CHECK(tape.bytes() == 0);
}

TEST_CASE("tape: the first value that is not finite") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("encoder.weights", 2, 3);
  Tape tape;
  CHECK(tape.FirstNonFinite() == "");
  Var x = Exp(tape, tape.Use(w));
  CHECK(tape.FirstNonFinite() == "");
  Matrix masked = Matrix::Zero(2, 3);
  masked(1, 1) = -kTapeInfinity;
  x = Add(tape, x, tape.Constant(masked));
  CHECK(tape.FirstNonFinite() == "");
  Matrix broken = masked;
  broken(1, 2) = kTapeNaN;
  x = Multiply(tape, x, tape.Constant(broken));
  CHECK(tape.FirstNonFinite() == "constant [2, 3]: value");
  tape.Clear();

  x = Scale(tape, AddScalar(tape, tape.Use(w), 1), kTapeInfinity);
  const Var loss = SumAll(tape, x);
  CHECK(tape.FirstNonFinite() == "scale [2, 3]: value");
  tape.Backward(loss);
  CHECK(tape.FirstNonFinite() == "scale [2, 3]: value");
  tape.Clear();

  w.value(0, 1) = kTapeNaN;
  SumAll(tape, tape.Use(w));
  CHECK(tape.FirstNonFinite() == "parameter \"encoder.weights\" [2, 3]: value");
}

TEST_CASE("tape: the first gradient that is not finite, when all values are") {
  // y = x * 1e30 * 1e-30: the gradient of the product before, 1e30 * 1e30, is not finite.
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 1, 1);
  Tape tape;
  const Var small = Scale(tape, tape.Use(w), 1e30F);
  tape.Backward(Scale(tape, small, 1e30F));
  CHECK(tape.FirstNonFinite() == "parameter \"w\" [1, 1]: gradient");
  tape.Clear();
  parameters.ClearGradients();

  // log(0) * 0: the value is exp(-infinity) = 0, its gradient 0 * infinity.
  const Var zero = Square(tape, tape.Use(w));
  const Var log = Log(tape, zero);
  CHECK(tape.value(log)(0, 0) == -kTapeInfinity);
  const Var loss = Relu(tape, log);
  CHECK(tape.value(loss)(0, 0) == 0);
  tape.Backward(loss);
  CHECK(tape.FirstNonFinite() == "square [1, 1]: gradient");
}

TEST_CASE("tape: an interrupt ends a recording and the way back") {
  ParameterSet parameters;
  Parameter& w = parameters.Add("w", 1, 1);
  static int asked = 0, last = 0;
  asked = 0;
  last = 1000;
  Tape tape(Interrupt([] { return ++asked == last; }));
  const Var loss = SumAll(tape, Square(tape, tape.Use(w)));
  CHECK(asked == 2);  // at both operations
  last = 4;
  CHECK_THROWS_AS(tape.Backward(loss), Interrupted);
  CHECK(asked == 4);
  tape.Clear();
  last = 5;
  CHECK_THROWS_AS(Square(tape, tape.Use(w)), Interrupted);
}

TEST_CASE("tape: broken promises") {
  const std::string not_a_loss = MessageOfAbort([] {
    Tape tape;
    tape.Backward(tape.Constant(Matrix::Zero(2, 3)));
  });
  CHECK(not_a_loss.find("constant [2, 3]: a loss is [1, 1]") != std::string::npos);

  const std::string twice = MessageOfAbort([] {
    ParameterSet parameters;
    Tape tape;
    const Var loss = SumAll(tape, tape.Use(parameters.Add("w", 1, 1)));
    tape.Backward(loss);
    tape.Backward(loss);
  });
  CHECK(twice.find("Backward again without Clear()") != std::string::npos);

  const std::string no_gradient = MessageOfAbort([] {
    Parameter lone{.name = "lone", .value = Matrix::Zero(2, 2), .gradient = {}};
    Tape tape;
    tape.Use(lone);
  });
  CHECK(no_gradient.find("lone") != std::string::npos);
}

}  // namespace
