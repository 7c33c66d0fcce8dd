#pragma once

// What the tests of ops.h share: shapes to try, expected values in plain loops, and checks.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "framework/learn/ops.h"
#include "tests/support/death.h"
#include "tests/support/gradients.h"

namespace emplace::testing {

using Vars = std::vector<Var>;

/// Empty ones, single rows and columns, and more columns than a vector register holds.
inline const std::vector<std::pair<int, int>> kShapes =
    {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 6}, {5, 1}, {4, 7}, {3, 33}};

/// entry(i, j) in double, for all entries.
template <typename Entry>
Matrix Plain(int rows, int cols, Entry entry) {
  Matrix matrix(rows, cols);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) matrix(i, j) = static_cast<float>(entry(i, j));
  }
  return matrix;
}

inline Matrix Value(const Operation& op, const std::vector<Matrix>& inputs) {
  Tape tape;
  Vars vars;
  for (const Matrix& input : inputs) vars.push_back(tape.Constant(input));
  return tape.value(op(tape, vars));
}

/// An expected value, and gradients by differences.
inline void CheckOp(const Operation& op,
                    const std::vector<Matrix>& inputs,
                    const Matrix& expected) {
  CAPTURE(expected.rows());
  CAPTURE(expected.cols());
  CHECK(Distance(Value(op, inputs), expected) <= 1e-5 * (1 + expected.cwiseAbs().sum()));
  CheckGradients(op, inputs);
}

struct RefusedShapes {
  std::function<Var(Tape&, Var a, Var b)> op;
  const char* message;  ///< part of what it aborts with
};

/// Every operation aborts on `a` and `b`, and says why.
inline void CheckRefusedShapes(const std::vector<RefusedShapes>& cases,
                               const Matrix& a = Matrix::Zero(2, 3),
                               const Matrix& b = Matrix::Zero(2, 4)) {
  for (const RefusedShapes& refused : cases) {
    const std::string message = MessageOfAbort([&] {
      Tape tape;
      refused.op(tape, tape.Constant(a), tape.Constant(b));
    });
    CHECK_MESSAGE(message.find(refused.message) != std::string::npos,
                  refused.message << ": " << message);
  }
}

}  // namespace emplace::testing
