#pragma once

#include "framework/learn/matrix.h"

namespace emplace::testing {

/// y + x w in plain loops, in double.
inline Matrix PlainProduct(const Matrix& x, const Matrix& w, const Matrix& y) {
  Matrix sum = y;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    for (Eigen::Index j = 0; j < w.cols(); ++j) {
      double entry = y(i, j);
      for (Eigen::Index l = 0; l < x.cols(); ++l) entry += double{x(i, l)} * double{w(l, j)};
      sum(i, j) = static_cast<float>(entry);
    }
  }
  return sum;
}

}  // namespace emplace::testing
