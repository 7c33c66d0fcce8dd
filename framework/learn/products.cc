#include "framework/learn/products.h"

#include <algorithm>

#include "framework/learn/lanes.h"

namespace emplace {
namespace {

using Eigen::Index;
using internal::kLanes;
using internal::Lanes;
using internal::Load;
using internal::Store;

// The largest numbers of rows for which these products are faster than Eigen's, by measurement.
#ifdef __AVX512F__
constexpr Index kMostRows = 32, kMostRowsTransposed = 16;
#else
constexpr Index kMostRows = 4, kMostRowsTransposed = 4;
#endif

// Adds rows of x times w to rows of y, for kRows rows and kCols vectors of columns in registers.
template <int kRows, int kCols>
void AddBlock(const float* x, Index k, const float* w, Index m, float* y) {
  Lanes sum[kRows][kCols];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) sum[r][c] = Load(y + r * m + c * kLanes);
  }
  for (Index i = 0; i < k; ++i) {
    Lanes row[kCols];
    for (int c = 0; c < kCols; ++c) row[c] = Load(w + i * m + c * kLanes);
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kCols; ++c) sum[r][c] += x[r * k + i] * row[c];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) Store(sum[r][c], y + r * m + c * kLanes);
  }
}

// Does the same for n rows.
template <int kCols>
void AddColumns(const float* x, Index n, Index k, const float* w, Index m, float* y) {
  constexpr void (*kAdd[])(const float*, Index, const float*, Index, float*) = {AddBlock<1, kCols>,
                                                                                AddBlock<2, kCols>,
                                                                                AddBlock<3, kCols>,
                                                                                AddBlock<4, kCols>,
                                                                                AddBlock<5, kCols>,
                                                                                AddBlock<6, kCols>,
                                                                                AddBlock<7, kCols>,
                                                                                AddBlock<8, kCols>};
  for (Index row = 0; row < n; row += 8) {
    kAdd[std::min<Index>(8, n - row) - 1](x + row * k, k, w, m, y + row * m);
  }
}

// Multiplies kRows rows of x with kCols rows of w.
template <int kRows, int kCols>
void AddDots(const float* x, const float* w, Index m, float* y, Index k) {
  Lanes sum[kRows][kCols] = {};
  Index i = 0;
  for (; i + kLanes <= m; i += kLanes) {
    Lanes column[kCols];
    for (int c = 0; c < kCols; ++c) column[c] = Load(w + c * m + i);
    for (int r = 0; r < kRows; ++r) {
      const Lanes row = Load(x + r * m + i);
      for (int c = 0; c < kCols; ++c) sum[r][c] += row * column[c];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) {
      const auto lanes = reinterpret_cast<const float*>(&sum[r][c]);
      float dot = Eigen::Map<const Eigen::Array<float, kLanes, 1>>(lanes).sum();
      for (Index rest = i; rest < m; ++rest) dot += x[r * m + rest] * w[c * m + rest];
      y[r * k + c] += dot;
    }
  }
}

// Does the same for n rows of x.
template <int kCols>
void AddDotsOfRows(const float* x, Index n, const float* w, Index m, float* y, Index k) {
  constexpr void (*kAdd[])(const float*, const float*, Index, float*, Index) = {
      AddDots<1, kCols>, AddDots<2, kCols>, AddDots<3, kCols>, AddDots<4, kCols>};
  for (Index row = 0; row < n; row += 4) {
    kAdd[std::min<Index>(4, n - row) - 1](x + row * m, w, m, y + row * k, k);
  }
}

}  // namespace

void AddProduct(const Matrix& x, const Matrix& w, Matrix& y) {
  const Index n = x.rows(), k = x.cols(), m = w.cols();
  if (IsNarrow(w)) return AddNarrowProduct(x, w, y);
  if (n == 1 || n > kMostRows) {
    y.noalias() += x * w;
    return;
  }
  Index c = 0;
  for (const Index columns = 4 * kLanes; n <= 4 && c + columns <= m; c += columns) {
    AddColumns<4>(x.data(), n, k, w.data() + c, m, y.data() + c);
  }
  for (; c + 2 * kLanes <= m; c += 2 * kLanes) {
    AddColumns<2>(x.data(), n, k, w.data() + c, m, y.data() + c);
  }
  if (c < m) y.rightCols(m - c).noalias() += x * w.rightCols(m - c);
}

void AddProductTransposed(const Matrix& x, const Matrix& w, Matrix& y) {
  const Index n = x.rows(), m = x.cols(), k = w.rows();
  if (IsNarrow(w)) return NarrowProductTransposed(x, w, true, y);
  if (n == 1 || n > kMostRowsTransposed || m < kLanes) {
    y.noalias() += x * w.transpose();
    return;
  }
  Index c = 0;
  for (; c + 4 <= k; c += 4) AddDotsOfRows<4>(x.data(), n, w.data() + c * m, m, y.data() + c, k);
  for (; c < k; ++c) AddDotsOfRows<1>(x.data(), n, w.data() + c * m, m, y.data() + c, k);
}

}  // namespace emplace
