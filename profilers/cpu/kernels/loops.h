#pragma once

// Loops over several strided views of one shape. To make the innermost loop as long as possible,
// dimensions of size 1 are dropped, the others are ordered by the first view's strides, and
// neighbouring dimensions are merged if every view allows it. Dense views become a single loop.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/error.h"
#include "profilers/cpu/kernels/simd.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace::cpu {

/// The nested loops over some views.
struct Loops {
  static constexpr int kMaxDims = 12;

  std::vector<std::int64_t> shape;                 ///< outermost first; at least one dimension
  std::vector<std::vector<std::int64_t>> strides;  ///< [view][dim], in elements

  int num_dims() const { return static_cast<int>(shape.size()); }
  std::int64_t num_elements() const;
  /// Returns the length of the innermost dimension.
  std::int64_t row_length() const { return shape.back(); }
  std::int64_t row_stride(int view) const { return strides[view].back(); }
  /// Returns whether there is a single loop, with stride 1 in every view.
  bool is_one_run() const;
};

/// Returns the loops over `views`. They must have the same shape, of up to kMaxDims dimensions.
Loops MergeLoops(std::span<const TensorView* const> views);

/// Returns `view` broadcast to `shape`, which has the same rank: stride 0 in dimensions of size 1.
TensorView BroadcastTo(const TensorView& view, const std::vector<std::int64_t>& shape);

/// Walks the positions [begin, end) of the loops over `shape` in row-major order and updates the
/// offsets of N views. Step() is cheap.
template <std::size_t N>
class Odometer {
 public:
  /// @param strides  [N] of at least `dims` numbers each
  Odometer(const std::int64_t* shape,
           std::array<const std::int64_t*, N> strides,
           int dims,
           std::int64_t begin)
      : shape_(shape), strides_(strides), dims_(dims) {
    EMPLACE_DCHECK(dims <= Loops::kMaxDims);
    for (int d = dims - 1; d >= 0; --d) {
      index_[d] = begin % shape[d];
      begin /= shape[d];
      for (std::size_t v = 0; v < N; ++v) offsets_[v] += index_[d] * strides_[v][d];
    }
  }
  const std::array<std::int64_t, N>& offsets() const { return offsets_; }
  void Step() {
    for (int d = dims_ - 1; d >= 0; --d) {
      for (std::size_t v = 0; v < N; ++v) offsets_[v] += strides_[v][d];
      if (++index_[d] < shape_[d]) return;
      for (std::size_t v = 0; v < N; ++v) offsets_[v] -= shape_[d] * strides_[v][d];
      index_[d] = 0;
    }
  }

 private:
  const std::int64_t* shape_;
  std::array<const std::int64_t*, N> strides_;
  int dims_;
  std::array<std::int64_t, Loops::kMaxDims> index_{};
  std::array<std::int64_t, N> offsets_{};
};

/// Calls row(offsets [N], count) for pieces of the innermost dimension, spread over the threads.
template <std::size_t N, typename Row>
void ForEachRow(const Loops& loops, int threads, const Row& row) {
  constexpr std::int64_t kPiece = 16384;
  const std::int64_t length = loops.row_length();
  if (loops.num_elements() == 0) return;
  const std::int64_t rows = loops.num_elements() / length;
  const std::int64_t pieces = (length + kPiece - 1) / kPiece;
  std::array<const std::int64_t*, N> strides;
  for (std::size_t v = 0; v < N; ++v) strides[v] = loops.strides[v].data();
  const int outer_dims = loops.num_dims() - 1;
  const bool tiny = loops.num_elements() <= kPiece;  // a parallel region would take longer
  ParallelRanges(tiny ? 1 : threads, rows * pieces, [&](std::int64_t begin, std::int64_t end) {
    Odometer<N> odometer(loops.shape.data(), strides, outer_dims, begin / pieces);
    std::int64_t piece = begin % pieces;
    for (std::int64_t i = begin; i < end; ++i) {
      std::array<std::int64_t, N> offsets = odometer.offsets();
      for (std::size_t v = 0; v < N; ++v) offsets[v] += piece * kPiece * strides[v][outer_dims];
      row(offsets, std::min(kPiece, length - piece * kPiece));
      if (++piece == pieces) {
        piece = 0;
        odometer.Step();
      }
    }
  });
}

}  // namespace emplace::cpu
