#pragma once

// Shared functions of the sources of ops.h. Private to framework/learn.

#include <string>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/learn/tape.h"

namespace emplace::internal {

/// CHECKs `fits`; the message names the operation and both shapes.
inline void CheckShapes(bool fits, const char* op, const Matrix& a, const Matrix& b) {
  EMPLACE_CHECK(
      fits, fmt::format("{}: [{}, {}] and [{}, {}]", op, a.rows(), a.cols(), b.rows(), b.cols()));
}

/// CHECKs `fits`; the message names the operation, the shape and a number, such as an index.
inline void CheckShape(bool fits, const char* op, const Matrix& x, Eigen::Index number) {
  EMPLACE_CHECK(fits, fmt::format("{}: [{}, {}] and {}", op, x.rows(), x.cols(), number));
}

/// Returns the node that is recorded next, for closures that read its value.
inline Var Next(const Tape& tape) {
  return {tape.num_nodes()};
}

}  // namespace emplace::internal
