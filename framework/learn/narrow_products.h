#pragma once

// Products of many rows with a small matrix of weights, such as a graph network's [1024, 8] x
// [8, 8]. Eigen copies both sides into blocks first, which takes longer than the product where
// there are few columns; these keep the weights in the nearest cache and go over the rows once.
// One order of sums, whatever the number of rows.

#include "framework/learn/matrix.h"

namespace emplace {

/// Whether weights are so small that these are faster than Eigen, measured.
inline bool IsNarrow(const Matrix& w) {
  return w.rows() <= 32 && w.cols() <= 32;
}

// @pre IsNarrow(w); x [n, k], w [k, m], y [n, m], no two the same

/// y = x w + bias [1, m]; with `relu` what is negative then becomes 0.
void NarrowAffine(const Matrix& x, const Matrix& w, const Matrix& bias, bool relu, Matrix& y);
/// y += x w
void AddNarrowProduct(const Matrix& x, const Matrix& w, Matrix& y);
/// x = y w^T, or with `add` x += y w^T
void NarrowProductTransposed(const Matrix& y, const Matrix& w, bool add, Matrix& x);
/// w += x^T y
void AddNarrowOuterProducts(const Matrix& x, const Matrix& y, Matrix& w);
/// sum [1, m] += the rows of y, m <= 32
void AddNarrowRows(const Matrix& y, Matrix& sum);

}  // namespace emplace
