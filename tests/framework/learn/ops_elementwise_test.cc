// Elementwise operations, with broadcast and without.

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/framework/learn/check_op.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr float kElementwiseNaN = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("add, subtract, multiply: every broadcast") {
  Rng rng(2);
  for (const auto& [n, m] : kShapes) {
    for (const auto& [rows, cols] : {std::pair{n, m}, {1, m}, {n, 1}, {1, 1}}) {
      CAPTURE(rows);
      CAPTURE(cols);
      const Matrix a = RandomMatrix(n, m, rng), b = RandomMatrix(rows, cols, rng);
      const auto spread = [&, rows = rows, cols = cols](int i, int j) {
        return double{b(rows == 1 ? 0 : i, cols == 1 ? 0 : j)};
      };
      CheckOp([](Tape& t, const Vars& x) { return Add(t, x[0], x[1]); },
              {a, b},
              Plain(n, m, [&](int i, int j) { return a(i, j) + spread(i, j); }));
      CheckOp([](Tape& t, const Vars& x) { return Subtract(t, x[0], x[1]); },
              {a, b},
              Plain(n, m, [&](int i, int j) { return a(i, j) - spread(i, j); }));
      CheckOp([](Tape& t, const Vars& x) { return Multiply(t, x[0], x[1]); },
              {a, b},
              Plain(n, m, [&](int i, int j) { return a(i, j) * spread(i, j); }));
    }
  }
  for (const auto& [n, m] : kShapes) {
    const Matrix a = RandomMatrix(n, m, rng), b = RandomMatrix(n, m, rng),
                 c = RandomMatrix(n, m, rng);
    CheckOp([](Tape& t, const Vars& x) { return MultiplyAdd(t, x[0], x[1], x[2]); },
            {a, b, c},
            Plain(n, m, [&](int i, int j) { return a(i, j) + double{b(i, j)} * c(i, j); }));
  }
  const Matrix a = RandomMatrix(3, 4, rng);
  CheckOp([](Tape& t, const Vars& x) { return Multiply(t, x[0], x[0]); },
          {a},
          Plain(3, 4, [&](int i, int j) { return double{a(i, j)} * a(i, j); }));
}

struct Unary {
  const char* name;
  Var (*op)(Tape&, Var);
  double (*plain)(double);
  double low = -3, high = 3;
};
const Unary kUnary[] = {
    {"sigmoid", &Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", &Tanh, [](double x) { return std::tanh(x); }},
    {"exp", &Exp, [](double x) { return std::exp(x); }, -3, 1},
    {"log", &Log, [](double x) { return std::log(x); }, 0.3, 4},
    {"square", &Square, [](double x) { return x * x; }},
    {"scale", [](Tape& t, Var x) { return Scale(t, x, -2.5F); }, [](double x) { return -2.5 * x; }},
    {"add_scalar",
     [](Tape& t, Var x) { return AddScalar(t, x, 3); },
     [](double x) { return x + 3; }},
    // No kinks within a step of the differences.
    {"relu", &Relu, [](double x) { return x; }, 0.1, 2},
    {"relu", &Relu, [](double) { return 0.0; }, -2, -0.1},
    {"clamp",
     [](Tape& t, Var x) { return Clamp(t, x, -1, 2); },
     [](double x) { return x; },
     -0.9,
     1.9},
    {"clamp",
     [](Tape& t, Var x) { return Clamp(t, x, -1, 2); },
     [](double) { return 2.0; },
     2.1,
     4},
    {"clamp",
     [](Tape& t, Var x) { return Clamp(t, x, -1, 2); },
     [](double) { return -1.0; },
     -4,
     -1.1},
};

TEST_CASE("elementwise operations") {
  Rng rng(3);
  for (const Unary& unary : kUnary) {
    CAPTURE(unary.name);
    const Operation op = [&](Tape& t, const Vars& x) { return unary.op(t, x[0]); };
    for (const auto& [n, m] : kShapes) {
      const Matrix a = RandomMatrix(n, m, rng, unary.low, unary.high);
      CheckOp(op, {a}, Plain(n, m, [&](int i, int j) { return unary.plain(a(i, j)); }));
    }
    for (int cols : {1, 16, 35}) {  // alone and in a vector
      Matrix broken = Matrix::Constant(1, cols, static_cast<float>(unary.high));
      broken(0, cols - 1) = kElementwiseNaN;
      CHECK(std::isnan(Value(op, {broken})(0, cols - 1)));
    }
  }
}

TEST_CASE("sigmoid, tanh and exp of large numbers") {
  const Matrix x = Plain(1, 40, [](int, int j) { return j % 2 == 0 ? 500.0 : -500.0; });
  const auto limit = [](double even, double odd) {
    return Plain(1, 40, [=](int, int j) { return j % 2 == 0 ? even : odd; });
  };
  CHECK(Distance(Value([](Tape& t, const Vars& v) { return Sigmoid(t, v[0]); }, {x}),
                 limit(1, 0)) <= 1e-6);
  CHECK(Distance(Value([](Tape& t, const Vars& v) { return Tanh(t, v[0]); }, {x}), limit(1, -1)) <=
        1e-6);
  CHECK(Distance(Value([](Tape& t, const Vars& v) { return Exp(t, v[0]); }, {-x.cwiseAbs()}),
                 limit(0, 0)) <= 1e-6);
}

TEST_CASE("maximum") {
  Rng rng(4);
  for (const auto& [n, m] : kShapes) {
    const Matrix a = RandomMatrix(n, m, rng);
    // At least 0.1 apart: no kink within a step of the differences.
    const Matrix b = a + Plain(n, m, [&](int, int) {
                       return (0.1 + Uniform01(rng)) * (Uniform01(rng) < 0.5 ? 1 : -1);
                     });
    CheckOp([](Tape& t, const Vars& x) { return Maximum(t, x[0], x[1]); },
            {a, b},
            Plain(n, m, [&](int i, int j) { return std::max(a(i, j), b(i, j)); }));
  }
  // The gradient of equals goes to the first; at the edges of Clamp it passes.
  ParameterSet parameters;
  Parameter &a = parameters.Add("a", 1, 1), &b = parameters.Add("b", 1, 1);
  Tape tape;
  tape.Backward(Clamp(tape, Maximum(tape, tape.Use(a), tape.Use(b)), 0, 1));
  CHECK(a.gradient(0, 0) == 1);
  CHECK(b.gradient(0, 0) == 0);
}

TEST_CASE("shapes that do not fit are named with the operation") {
  CheckRefusedShapes({
      {[](Tape& t, Var a, Var b) { return MultiplyAdd(t, a, a, b); },
       "multiply_add: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var b) { return MultiplyAdd(t, a, b, a); },
       "multiply_add: [2, 3] and [2, 4]"},
      {&Add, "add: [2, 3] and [2, 4]"},
      {&Subtract, "subtract: [2, 3] and [2, 4]"},
      {&Multiply, "multiply: [2, 3] and [2, 4]"},
      {&Maximum, "maximum: [2, 3] and [2, 4]"},
      {[](Tape& t, Var a, Var) { return Clamp(t, a, 2, 1); }, "clamp: [2, 1]"},
  });
}

}  // namespace
