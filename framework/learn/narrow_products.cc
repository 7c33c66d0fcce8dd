#include <algorithm>

#include "framework/base/error.h"
#include "framework/learn/lanes.h"
#include "framework/learn/products.h"

namespace emplace {
namespace {

using Eigen::Index;
using internal::kLanes;
using internal::Lanes;
using internal::Load;
using internal::Store;

constexpr int kMostCols = 32, kMostVectors = kMostCols / kLanes;
constexpr int kBlock = 8;  // rows whose sums are kept in registers

// A row of m numbers in kVectors vectors; the last vector has `last` numbers.
template <int kVectors>
using Row = Lanes[kVectors];

template <int kVectors>
void Read(const float* from, int last, Row<kVectors>& row) {
  for (int c = 0; c + 1 < kVectors; ++c) row[c] = Load(from + c * kLanes);
  row[kVectors - 1] = Load(from + (kVectors - 1) * kLanes, last);
}

template <int kVectors>
void Write(const Row<kVectors>& row, int last, float* to) {
  for (int c = 0; c + 1 < kVectors; ++c) Store(row[c], to + c * kLanes);
  Store(row[kVectors - 1], to + (kVectors - 1) * kLanes, last);
}

struct Product {
  const float* x;     // [n, k]
  const float* w;     // [k, m]
  const float* bias;  // [m]; nullptr: adds to y
  float* y;           // [n, m]
  Index n;
  int k, m;
  bool relu = false;
};

// Multiplies kRows rows. @param x, y  first of these rows
template <int kVectors, int kRows>
void MultiplyBlock(const float* x,
                   int k,
                   const Row<kVectors>* w,
                   const Row<kVectors>* bias,
                   bool relu,
                   float* y,
                   int m) {
  const int last = m - (kVectors - 1) * kLanes;
  Row<kVectors> sum[kRows];
  for (int r = 0; r < kRows; ++r) {
    if (bias == nullptr) {
      Read<kVectors>(y + r * m, last, sum[r]);
    } else {
      for (int c = 0; c < kVectors; ++c) sum[r][c] = (*bias)[c];
    }
  }
  for (int i = 0; i < k; ++i) {
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kVectors; ++c) sum[r][c] += x[r * k + i] * w[i][c];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; relu && c < kVectors; ++c) {
      sum[r][c] = sum[r][c] < 0 ? Lanes{} : sum[r][c];  // preserves NaN
    }
    Write<kVectors>(sum[r], last, y + r * m);
  }
}

template <int kVectors>
void MultiplyRows(const Product& p) {
  const Index n = p.n;
  const int k = p.k, m = p.m, last = m - (kVectors - 1) * kLanes;
  const bool relu = p.relu;
  Row<kVectors> w[kMostCols], bias_row;
  for (int i = 0; i < k; ++i) Read<kVectors>(p.w + i * m, last, w[i]);
  if (p.bias != nullptr) Read<kVectors>(p.bias, last, bias_row);
  const Row<kVectors>* bias = p.bias != nullptr ? &bias_row : nullptr;
  constexpr int kRows = kBlock / kVectors;
  const float* x = p.x;
  float* y = p.y;
  Index row = 0;
  for (; row + kRows <= n; row += kRows, x += kRows * k, y += kRows * m) {
    MultiplyBlock<kVectors, kRows>(x, k, w, bias, relu, y, m);
  }
  for (; row < n; ++row, x += k, y += m) {
    MultiplyBlock<kVectors, 1>(x, k, w, bias, relu, y, m);
  }
}

// Adds kRows rows of x^T y to those of w. @param x  from the first of these columns
template <int kVectors, int kRows>
void AddOuterBlock(const float* x, int k, const float* y, int m, Index n, float* w) {
  const int last = m - (kVectors - 1) * kLanes;
  Row<kVectors> sum[kRows];
  // Early unrolling prevents GCC from storing the sums in every step.
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) Read<kVectors>(w + i * m, last, sum[i]);
  for (Index row = 0; row < n; ++row, x += k, y += m) {
    Row<kVectors> values;
    Read<kVectors>(y, last, values);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int c = 0; c < kVectors; ++c) sum[i][c] += x[i] * values[c];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) Write<kVectors>(sum[i], last, w + i * m);
}

template <int kVectors>
void AddOuter(const Matrix& x, const Matrix& y, Matrix& w) {
  const int k = static_cast<int>(x.cols()), m = static_cast<int>(y.cols());
  constexpr void (*kAdd[])(const float*, int, const float*, int, Index, float*) = {
      AddOuterBlock<kVectors, 1>,
      AddOuterBlock<kVectors, 2>,
      AddOuterBlock<kVectors, 3>,
      AddOuterBlock<kVectors, 4>,
      AddOuterBlock<kVectors, 5>,
      AddOuterBlock<kVectors, 6>,
      AddOuterBlock<kVectors, 7>,
      AddOuterBlock<kVectors, 8>};
  for (int i = 0; i < k; i += kBlock) {
    kAdd[std::min(kBlock, k - i) - 1](
        x.data() + i, k, y.data(), m, x.rows(), w.data() + static_cast<Index>(i) * m);
  }
}

// Calls f with the number of vectors for m columns as a constant, if there are columns.
template <typename Function>
void WithVectors(Index m, const Function& f) {
  internal::WithConstant<kMostVectors>(static_cast<int>((m + kLanes - 1) / kLanes), f);
}

void Multiply(const Product& p) {
  WithVectors(p.m, [&](auto vectors) { MultiplyRows<vectors>(p); });
}

int Int(Index i) {
  return static_cast<int>(i);
}

}  // namespace

void NarrowAffine(const Matrix& x, const Matrix& w, const Matrix& bias, bool relu, Matrix& y) {
  EMPLACE_DCHECK(IsNarrow(w), "");
  Multiply(
      {x.data(), w.data(), bias.data(), y.data(), x.rows(), Int(w.rows()), Int(w.cols()), relu});
}

void AddNarrowProduct(const Matrix& x, const Matrix& w, Matrix& y) {
  EMPLACE_DCHECK(IsNarrow(w), "");
  Multiply({x.data(), w.data(), nullptr, y.data(), x.rows(), Int(w.rows()), Int(w.cols())});
}

void NarrowProductTransposed(const Matrix& y, const Matrix& w, bool add, Matrix& x) {
  EMPLACE_DCHECK(IsNarrow(w), "");
  static constexpr float kZeros[kMostCols] = {};
  float transposed[kMostCols * kMostCols];
  Eigen::Map<Matrix>(transposed, w.cols(), w.rows()) = w.transpose();
  const float* const bias = add ? nullptr : kZeros;
  Multiply({y.data(), transposed, bias, x.data(), x.rows(), Int(w.cols()), Int(w.rows())});
}

void AddNarrowOuterProducts(const Matrix& x, const Matrix& y, Matrix& w) {
  EMPLACE_DCHECK(IsNarrow(w), "");
  WithVectors(y.cols(), [&](auto vectors) { AddOuter<vectors>(x, y, w); });
}

void AddNarrowRows(const Matrix& y, Matrix& sum) {
  WithVectors(y.cols(), [&](auto vectors) {
    const int m = Int(y.cols()), last = m - (vectors - 1) * kLanes;
    // Two sums, so that an addition does not wait for the previous one.
    Row<vectors> even, odd = {}, row;
    Read<vectors>(sum.data(), last, even);
    const float* from = y.data();
    for (Index i = 0; i < y.rows(); ++i, from += m) {
      Read<vectors>(from, last, row);
      for (int c = 0; c < vectors; ++c) (i % 2 == 0 ? even : odd)[c] += row[c];
    }
    for (int c = 0; c < vectors; ++c) even[c] += odd[c];
    Write<vectors>(even, last, sum.data());
  });
}

}  // namespace emplace
