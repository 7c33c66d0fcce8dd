#pragma once

// Products of few rows, such as a batch of 8 samples, with a matrix of weights. Eigen first copies
// the weights into blocks, which takes longer than the product itself if there are few rows. These
// functions read the weights in place. They use Eigen for larger numbers of rows and for one row.

#include "framework/learn/matrix.h"

namespace emplace {

/// Computes y += x w: x [n, k], w [k, m], y [n, m] are distinct matrices.
void AddProduct(const Matrix& x, const Matrix& w, Matrix& y);
/// Computes y += x w^T: x [n, m], w [k, m], y [n, k] are distinct matrices.
void AddProductTransposed(const Matrix& x, const Matrix& w, Matrix& y);

}  // namespace emplace
