#pragma once

// Products of few rows, such as a batch of 8 samples, with a matrix of weights. Eigen first copies
// the weights into blocks, which takes longer than the product itself if there are few rows. These
// functions read the weights in place. They use Eigen for larger numbers of rows and for one row.
//
// Narrow products are those of many rows with a small matrix of weights, such as [1024, 8] x [8, 8]
// in a graph network. Eigen first copies both factors into blocks, which takes longer than the
// product itself if there are few columns. These functions keep the weights in the nearest cache
// and pass over the rows once. The order of sums does not depend on the number of rows.

#include "framework/learn/matrix.h"

namespace emplace {

/// Returns whether AddProduct() reads the weights in place for these rows, by measurement.
inline bool HasFewRows(const Matrix& x) {
#ifdef __AVX512F__
  constexpr int kMostRows = 32;
#else
  constexpr int kMostRows = 4;
#endif
  return x.rows() > 1 && x.rows() <= kMostRows;
}
/// Computes y += x w: x [n, k], w [k, m], y [n, m] are distinct matrices.
void AddProduct(const Matrix& x, const Matrix& w, Matrix& y);

/// Returns whether weights are so small that these functions are faster than Eigen, by measurement.
inline bool IsNarrow(const Matrix& w) {
  return w.rows() <= 32 && w.cols() <= 32;
}

// @pre IsNarrow(w); x [n, k], w [k, m], y [n, m] are distinct matrices

/// Computes y = x w + bias [1, m]. With `relu`, replaces negative entries by 0.
void NarrowAffine(const Matrix& x, const Matrix& w, const Matrix& bias, bool relu, Matrix& y);
/// Computes y += x w.
void AddNarrowProduct(const Matrix& x, const Matrix& w, Matrix& y);
/// Computes x = y w^T, or x += y w^T with `add`.
void NarrowProductTransposed(const Matrix& y, const Matrix& w, bool add, Matrix& x);
/// Computes w += x^T y.
void AddNarrowOuterProducts(const Matrix& x, const Matrix& y, Matrix& w);
/// Adds the rows of y to sum [1, m], m <= 32.
void AddNarrowRows(const Matrix& y, Matrix& sum);

}  // namespace emplace
