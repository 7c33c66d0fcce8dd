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

// Adds rows of x times w to rows of y, for kRows rows and kCols vectors of columns in registers.
// A single vector has `last` columns, each of several all of them.
template <int kRows, int kCols>
void AddBlock(const float* x, Index k, const float* w, Index m, int last, float* y) {
  const auto load = [last](const float* from) { return kCols > 1 ? Load(from) : Load(from, last); };
  Lanes sum[kRows][kCols];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) sum[r][c] = load(y + r * m + c * kLanes);
  }
  for (Index i = 0; i < k; ++i) {
    Lanes row[kCols];
    for (int c = 0; c < kCols; ++c) row[c] = load(w + i * m + c * kLanes);
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kCols; ++c) sum[r][c] += x[r * k + i] * row[c];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) {
      Store(sum[r][c], y + r * m + c * kLanes, kCols > 1 ? kLanes : last);
    }
  }
}

// Does the same for n rows.
template <int kCols>
void AddColumns(const float* x, Index n, Index k, const float* w, Index m, int last, float* y) {
  for (Index row = 0; row < n; row += 8) {
    internal::WithConstant<8>(static_cast<int>(std::min<Index>(8, n - row)), [&](auto rows) {
      AddBlock<rows, kCols>(x + row * k, k, w, m, last, y + row * m);
    });
  }
}

}  // namespace

void AddProduct(const Matrix& x, const Matrix& w, Matrix& y) {
  const Index n = x.rows(), k = x.cols(), m = w.cols();
  if (IsNarrow(w)) return AddNarrowProduct(x, w, y);
  if (!HasFewRows(x)) {
    y.noalias() += x * w;
    return;
  }
  Index c = 0;
  const auto add = [&](auto vectors, Index columns) {
    const int last = static_cast<int>(std::min<Index>(kLanes, columns));
    AddColumns<vectors>(x.data(), n, k, w.data() + c, m, last, y.data() + c);
    c += columns;
  };
  constexpr std::integral_constant<int, 1> kOne;
  constexpr std::integral_constant<int, 2> kTwo;
  constexpr std::integral_constant<int, 4> kFour;
  while (n <= 4 && c + 4 * kLanes <= m) add(kFour, 4 * kLanes);
  while (c + 2 * kLanes <= m) add(kTwo, 2 * kLanes);
  while (c < m) add(kOne, std::min<Index>(kLanes, m - c));
}

}  // namespace emplace
