#pragma once

// Elementwise functions in hand-written loops. A function of one row, which knows the types, is
// applied to every row of a call's views.

#include <array>
#include <cstdint>
#include <memory>

#include "profilers/cpu/kernels/simd.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {

/// One row of y = f(inputs). Strides are in elements of each view's own type.
struct Row {
  void* y;
  std::int64_t y_stride;
  std::array<const void*, 3> in;       // nullptr: missing
  std::array<std::int64_t, 3> stride;  // of the inputs
  std::int64_t count;
  double alpha;
};

/// A function of one row. Only these know types, so the walk over rows is compiled just once.
using RowFunction = void (*)(const Row& row);

/// y = f(a)
template <typename A, typename Y, typename F>
void UnaryRow(const Row& row) {
  Vectorised([&] {
    const A* const a = static_cast<const A*>(row.in[0]);
    Y* const y = static_cast<Y*>(row.y);
    if (row.y_stride == 1 && row.stride[0] == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < row.count; ++i) y[i] = F()(a[i]);
    } else {
      for (std::int64_t i = 0; i < row.count; ++i) y[i * row.y_stride] = F()(a[i * row.stride[0]]);
    }
  });
}

/// y = f(a, b, alpha); alpha replaces a missing b. There are separate loops for broadcast and for
/// dense operands.
template <typename A, typename B, typename Y, typename F>
void BinaryRow(const Row& row) {
  Vectorised([&] {
    const B alpha = static_cast<B>(row.alpha);
    const A* const a = static_cast<const A*>(row.in[0]);
    const B* const b = row.in[1] != nullptr ? static_cast<const B*>(row.in[1]) : &alpha;
    Y* const y = static_cast<Y*>(row.y);
    const std::int64_t a_stride = row.stride[0], b_stride = row.stride[1];
    if (row.y_stride == 1 && a_stride == 1 && b_stride == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < row.count; ++i) y[i] = F()(a[i], b[i], alpha);
    } else if (row.y_stride == 1 && a_stride == 1 && b_stride == 0) {
      const B scalar = *b;
#pragma omp simd
      for (std::int64_t i = 0; i < row.count; ++i) y[i] = F()(a[i], scalar, alpha);
    } else if (row.y_stride == 1 && a_stride == 0 && b_stride == 1) {
      const A scalar = *a;
#pragma omp simd
      for (std::int64_t i = 0; i < row.count; ++i) y[i] = F()(scalar, b[i], alpha);
    } else {
      for (std::int64_t i = 0; i < row.count; ++i)
        y[i * row.y_stride] = F()(a[i * a_stride], b[i * b_stride], alpha);
    }
  });
}

/// Makes a kernel that applies `function` to every row of its output and its inputs, at most three.
std::unique_ptr<ViewKernel> MakeRows(const KernelCall& call, int threads, RowFunction function);

/// f(a) of f32.
template <typename F>
constexpr RowFunction UnaryF32(F) {
  return &UnaryRow<float, float, F>;
}

/// f(a, b, alpha) of f32; alpha replaces a missing b.
template <typename F>
constexpr RowFunction BinaryF32(F) {
  return &BinaryRow<float, float, float, F>;
}

}  // namespace emplace::cpu
