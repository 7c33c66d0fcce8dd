#include "tests/support/gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"

namespace emplace::testing {
namespace {

enum class Kind { kConstant, kParameter, kIntermediate };

// Gradients of <w, op(inputs)> by Backward, times the number of uses; empty for constants.
std::vector<Matrix> Gradients(const Operation& op,
                              const std::vector<Matrix>& inputs,
                              const std::vector<Kind>& kinds,
                              const Matrix& w,
                              int uses) {
  ParameterSet parameters;
  Tape tape;
  std::vector<Var> vars;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (kinds[i] == Kind::kConstant) {
      vars.push_back(tape.Constant(inputs[i]));
      continue;
    }
    const int rows = static_cast<int>(inputs[i].rows()), cols = static_cast<int>(inputs[i].cols());
    Parameter& parameter = parameters.Add("input " + std::to_string(i), rows, cols);
    parameter.value = inputs[i];
    vars.push_back(tape.Use(parameter));
    if (kinds[i] == Kind::kIntermediate) vars.back() = Scale(tape, vars.back(), 1);
  }
  Var loss = SumAll(tape, Multiply(tape, op(tape, vars), tape.Constant(w)));
  for (int use = 1; use < uses; ++use) {
    const Var again = SumAll(tape, Multiply(tape, op(tape, vars), tape.Constant(w)));
    loss = Add(tape, loss, again);
  }
  tape.Backward(loss);
  std::vector<Matrix> gradients;
  auto parameter = parameters.all().begin();
  for (const Kind kind : kinds) {
    gradients.push_back(kind == Kind::kConstant ? Matrix() : (parameter++)->gradient);
  }
  return gradients;
}

// <w, op(inputs)>, summed in double.
double Loss(const Operation& op, const std::vector<Matrix>& inputs, const Matrix& w) {
  Tape tape;
  std::vector<Var> vars;
  for (const Matrix& input : inputs) vars.push_back(tape.ConstantView(input));
  return tape.value(op(tape, vars)).cast<double>().cwiseProduct(w.cast<double>()).sum();
}

}  // namespace

Matrix RandomMatrix(int rows, int cols, Rng& rng, double low, double high) {
  Matrix matrix(rows, cols);
  for (float& entry : matrix.reshaped()) {
    entry = static_cast<float>(low + (high - low) * Uniform01(rng));
  }
  return matrix;
}

double Distance(const Matrix& a, const Matrix& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.rows() != b.rows() || a.cols() != b.cols()) return kInfinity;
  double distance = 0;
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    const double here = std::abs(double{a.data()[i]} - double{b.data()[i]});
    if (std::isnan(here)) return kInfinity;
    distance = std::max(distance, here);
  }
  return distance;
}

void CheckGradients(const Operation& op,
                    const std::vector<Matrix>& inputs,
                    const GradientOptions& options) {
  Rng rng(17);
  Matrix w;
  {
    Tape tape;
    std::vector<Var> vars;
    for (const Matrix& input : inputs) vars.push_back(tape.ConstantView(input));
    const Var y = op(tape, vars);
    CHECK(!tape.needs_gradient(y));
    w = RandomMatrix(tape.rows(y), tape.cols(y), rng);
  }
  const std::vector<Kind> all(inputs.size(), Kind::kParameter);
  const std::vector<Matrix> found = Gradients(op, inputs, all, w, 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    Matrix expected(inputs[i].rows(), inputs[i].cols());
    std::vector<Matrix> moved = inputs;
    for (Eigen::Index entry = 0; entry < expected.size(); ++entry) {
      float& x = moved[i].data()[entry];
      const float middle = x;
      const float above = middle + static_cast<float>(options.step),
                  below = middle - static_cast<float>(options.step);
      x = above;
      const double upper = Loss(op, moved, w);
      x = below;
      const double lower = Loss(op, moved, w);
      x = middle;
      expected.data()[entry] =
          static_cast<float>((upper - lower) / (double{above} - double{below}));
    }
    const double scale = 1 + expected.cwiseAbs().sum() / std::max<double>(1, expected.size());
    CHECK(Distance(found[i], expected) <= options.tolerance * scale);
  }
  const std::vector<Kind> nodes(inputs.size(), Kind::kIntermediate);
  const auto of_nodes = Gradients(op, inputs, nodes, w, 1),
             twice = Gradients(op, inputs, all, w, 2),
             of_nodes_twice = Gradients(op, inputs, nodes, w, 2);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    std::vector<Kind> alone(inputs.size(), Kind::kConstant);
    alone[i] = Kind::kParameter;
    const double scale = 1e-5 * (1 + found[i].cwiseAbs().sum());
    CHECK(Distance(Gradients(op, inputs, alone, w, 1)[i], found[i]) <= scale);
    CHECK(Distance(of_nodes[i], found[i]) <= scale);
    CHECK(Distance(twice[i], 2 * found[i]) <= scale);
    CHECK(Distance(of_nodes_twice[i], 2 * found[i]) <= scale);
  }
}

}  // namespace emplace::testing
