#pragma once

// Products of few rows, such as a batch of 8 samples, with a matrix of weights. Eigen's product
// copies the weights into blocks first, which takes longer than the product where rows are few;
// these read them where they lie. More rows, and a single one, are left to Eigen.

#include "framework/learn/matrix.h"

namespace emplace {

/// y += x w: x [n, k], w [k, m], y [n, m], no two the same.
void AddProduct(const Matrix& x, const Matrix& w, Matrix& y);
/// y += x w^T: x [n, m], w [k, m], y [n, k], no two the same.
void AddProductTransposed(const Matrix& x, const Matrix& w, Matrix& y);

}  // namespace emplace
