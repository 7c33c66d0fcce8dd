// Sums and maxima over axes. The input is read in memory order. If the innermost dimension is
// reduced, rows are summed. If it is kept, rows are added to a piece of sums that fits into the
// cache. Partial sums are f32 and short, totals are double.

#include <algorithm>
#include <limits>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

constexpr std::int64_t kPiece = 512;       // kept positions whose sums form a piece
constexpr std::int64_t kPartialRows = 64;  // rows added in f32 before a total in double

// The combination of terms: Add() in f32 to partial results, Join() in double.
struct SumOf {
  static constexpr float kStart = 0;
  static float Add(float partial, float x) { return partial + x; }
  static double Join(double total, double partial) { return total + partial; }
};
struct SumOfSquares : SumOf {
  static float Add(float partial, float x) { return partial + x * x; }
};
struct LargestOf {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static float Add(float partial, float x) { return partial < x ? x : partial; }
  static double Join(double total, double partial) { return total < partial ? partial : total; }
};

// The loops over the input, with separate kept and reduced dimensions.
struct Reduction {
  std::vector<std::int64_t> kept_shape, kept_x, kept_y;  // strides of x and y
  std::vector<std::int64_t> reduced_shape, reduced_x;
  bool sums_rows = false;  // the input's innermost dimension is reduced
  std::int64_t num_kept = 1, num_reduced = 1;
};

Reduction MakeReduction(const TensorView& x, const TensorView& y) {
  const TensorView y_of_x = BroadcastTo(y, x.shape);
  const TensorView* const views[] = {&x, &y_of_x};
  const Loops loops = MergeLoops(views);
  Reduction reduction;
  for (int d = 0; d < loops.num_dims(); ++d) {
    const std::int64_t size = loops.shape[d];
    if (loops.strides[1][d] == 0 && size > 1) {
      reduction.reduced_shape.push_back(size);
      reduction.reduced_x.push_back(loops.strides[0][d]);
      reduction.num_reduced *= size;
    } else {
      reduction.kept_shape.push_back(size);
      reduction.kept_x.push_back(loops.strides[0][d]);
      reduction.kept_y.push_back(loops.strides[1][d]);
      reduction.num_kept *= size;
    }
    reduction.sums_rows = loops.strides[1][d] == 0 && size > 1;
  }
  if (reduction.reduced_shape.empty()) {  // nothing to sum: rows of one element
    reduction.reduced_shape = {1};
    reduction.reduced_x = {0};
  }
  if (reduction.kept_shape.empty()) {
    reduction.kept_shape = {1};
    reduction.kept_x = reduction.kept_y = {0};
  }
  return reduction;
}

// Returns the sum of a row. It sums pieces of the row in f32 lanes. A piece is short enough to be
// accurate for any order of additions that the compiler chooses. Pieces are added in double.
template <typename Terms>
double SumRow(const float* x, std::int64_t stride, std::int64_t count) {
  constexpr int kLanes = 32;
  double total = Terms::kStart;
  std::int64_t i = 0;
  while (stride == 1 && i + kLanes <= count) {
    float lanes[kLanes];
    std::fill_n(lanes, kLanes, Terms::kStart);
    const std::int64_t end = std::min(count - kLanes + 1, i + 4096);
    for (; i < end; i += kLanes) {
#pragma omp simd
      for (int j = 0; j < kLanes; ++j) lanes[j] = Terms::Add(lanes[j], x[i + j]);
    }
    double piece = Terms::kStart;
    for (const float lane : lanes) piece = Terms::Join(piece, lane);
    total = Terms::Join(total, piece);
  }
  for (; i < count; ++i) {
    total = Terms::Join(total, Terms::Add(Terms::kStart, x[i * stride]));
  }
  return total;
}

template <typename Terms>
void SumRows(const Reduction& r, int threads, const float* x, float* y, double scale) {
  const int kept_dims = static_cast<int>(r.kept_shape.size());
  const int outer_dims = static_cast<int>(r.reduced_shape.size()) - 1;
  const std::int64_t row = r.reduced_shape.back(), rows = r.num_reduced / row;
  ParallelRanges(threads, r.num_kept, [&](std::int64_t begin, std::int64_t end) {
    Odometer<2> kept(r.kept_shape.data(), {r.kept_x.data(), r.kept_y.data()}, kept_dims, begin);
    for (std::int64_t k = begin; k < end; ++k, kept.Step()) {
      double total = Terms::kStart;
      Odometer<1> reduced(r.reduced_shape.data(), {r.reduced_x.data()}, outer_dims, 0);
      for (std::int64_t i = 0; i < rows; ++i, reduced.Step())
        total = Terms::Join(
            total,
            SumRow<Terms>(x + kept.offsets()[0] + reduced.offsets()[0], r.reduced_x.back(), row));
      y[kept.offsets()[1]] = static_cast<float>(total * scale);
    }
  });
}

template <typename Terms>
void AddRows(const Reduction& r, int threads, const float* x, float* y, double scale) {
  const int kept_dims = static_cast<int>(r.kept_shape.size()) - 1;
  const int reduced_dims = static_cast<int>(r.reduced_shape.size());
  const std::int64_t row = r.kept_shape.back(), rows = r.num_kept / row;
  const std::int64_t pieces = (row + kPiece - 1) / kPiece;
  const std::int64_t x_stride = r.kept_x.back(), y_stride = r.kept_y.back();
  ParallelRanges(threads, rows * pieces, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const Odometer<2> kept(
          r.kept_shape.data(), {r.kept_x.data(), r.kept_y.data()}, kept_dims, item / pieces);
      const std::int64_t first = item % pieces * kPiece, count = std::min(kPiece, row - first);
      float partial[kPiece];
      double total[kPiece];
      std::fill_n(partial, count, Terms::kStart);
      std::fill_n(total, count, double{Terms::kStart});
      const auto flush = [&] {
        for (std::int64_t j = 0; j < count; ++j) total[j] = Terms::Join(total[j], partial[j]);
        std::fill_n(partial, count, Terms::kStart);
      };
      const float* x_first = x + kept.offsets()[0] + first * x_stride;
      Odometer<1> reduced(r.reduced_shape.data(), {r.reduced_x.data()}, reduced_dims, 0);
      for (std::int64_t i = 0; i < r.num_reduced; ++i, reduced.Step()) {
        const float* from = x_first + reduced.offsets()[0];
        if (x_stride == 1) {
#pragma omp simd
          for (std::int64_t j = 0; j < count; ++j) partial[j] = Terms::Add(partial[j], from[j]);
        } else {
          for (std::int64_t j = 0; j < count; ++j) {
            partial[j] = Terms::Add(partial[j], from[j * x_stride]);
          }
        }
        if (i % kPartialRows == kPartialRows - 1) flush();
      }
      flush();
      float* to = y + kept.offsets()[1] + first * y_stride;
      for (std::int64_t j = 0; j < count; ++j)
        to[j * y_stride] = static_cast<float>(total[j] * scale);
    }
  });
}

template <typename Terms>
std::unique_ptr<ViewKernel> MakeReducedSum(const KernelCall& call, int threads, double scale = 1) {
  return MakeKernel([reduction = MakeReduction(call.inputs[0].view, call.outputs[0].view),
                     threads,
                     scale](void* const* in, void* const* out, void*) {
    if (reduction.sums_rows)
      SumRows<Terms>(reduction, threads, As<float>(in[0]), As<float>(out[0]), scale);
    else
      AddRows<Terms>(reduction, threads, As<float>(in[0]), As<float>(out[0]), scale);
  });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeReduce(const KernelCall& call, int threads) {
  const TensorView &x = call.inputs[0].view, &y = call.outputs[0].view;
  switch (call.params.function) {
    case Function::kSum:
      return MakeReducedSum<SumOf>(call, threads);
    case Function::kMean:
      return MakeReducedSum<SumOf>(
          call,
          threads,
          static_cast<double>(y.num_elements()) / static_cast<double>(x.num_elements()));
    case Function::kMax:
      return MakeReducedSum<LargestOf>(call, threads);
    case Function::kHalfSumOfSquares:
      return MakeReducedSum<SumOfSquares>(call, threads, 0.5);
    default:
      Refuse(call, "\"" + std::string(ToString(call.params.function)) + "\" is not a reduction");
  }
}

}  // namespace emplace::cpu
