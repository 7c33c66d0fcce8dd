// Layer norm over rows, in hand-written loops. A row stays in the cache between the passes over it.

#include <algorithm>
#include <cmath>

#include "profilers/cpu/kernels/simd.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

std::unique_ptr<ViewKernel> MakeLayerNormForward(const KernelCall& call, int threads) {
  const TensorView &x = call.inputs[0].view, &y = call.outputs[0].view;
  const std::int64_t rows = x.shape[0], width = x.shape[1];
  const std::int64_t x_stride = x.strides[0], y_stride = y.strides[0];
  const std::int64_t mean_stride = call.outputs[1].view.strides[0];
  const std::int64_t std_stride = call.outputs[2].view.strides[0];
  const auto epsilon = static_cast<float>(call.params.epsilon);
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    ParallelRanges(threads, rows, [&](std::int64_t begin, std::int64_t end) {
      const float *scale = As<float>(in[1]), *offset = As<float>(in[2]);
      for (std::int64_t row = begin; row < end; ++row) {
        const float* from = As<float>(in[0]) + row * x_stride;
        float* to = As<float>(out[0]) + row * y_stride;
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < width; ++i) sum += from[i];
        const float mean = sum / static_cast<float>(width);
#pragma omp simd reduction(+ : squares)
        for (std::int64_t i = 0; i < width; ++i) squares += (from[i] - mean) * (from[i] - mean);
        const float inverse_std = 1 / std::sqrt(squares / static_cast<float>(width) + epsilon);
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i)
          to[i] = (from[i] - mean) * inverse_std * scale[i] + offset[i];
        As<float>(out[1])[row * mean_stride] = mean;
        As<float>(out[2])[row * std_stride] = inverse_std;
      }
    });
  });
}

// Reshapes [batch, rows, ...] to [batch rows, ...].
// @return false if no stride can express the result
bool JoinFirstAxes(TensorView& view) {
  const std::int64_t batch = view.shape[0], rows = view.shape[1];
  if (batch > 1 && rows > 1 && view.strides[0] != view.strides[1] * rows) return false;
  if (rows == 1) view.strides[1] = view.strides[0];
  view.shape.erase(view.shape.begin());
  view.strides.erase(view.strides.begin());
  view.shape[0] = batch * rows;
  return true;
}

// Computes dx by rows. dscale and doffset are summed by columns, each thread with its own ones.
std::unique_ptr<ViewKernel> MakeLayerNormBackward(const KernelCall& call, int threads) {
  const TensorView &dy = call.inputs[0].view, &x = call.inputs[1].view, &dx = call.outputs[0].view;
  const std::int64_t rows = x.shape[0], width = x.shape[1];
  const std::int64_t dy_stride = dy.strides[0], x_stride = x.strides[0], dx_stride = dx.strides[0];
  const std::int64_t mean_stride = call.inputs[2].view.strides[0];
  const std::int64_t std_stride = call.inputs[3].view.strides[0];
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    const float *mean = As<float>(in[2]), *inverse_std = As<float>(in[3]);
    ParallelRanges(threads, rows, [&](std::int64_t begin, std::int64_t end) {
      const float* scale = As<float>(in[4]);
      for (std::int64_t row = begin; row < end; ++row) {
        const float* from = As<float>(in[0]) + row * dy_stride;
        const float* value = As<float>(in[1]) + row * x_stride;
        float* to = As<float>(out[0]) + row * dx_stride;
        const float m = mean[row * mean_stride], s = inverse_std[row * std_stride];
        float sum_g = 0, sum_gz = 0;
#pragma omp simd reduction(+ : sum_g, sum_gz)
        for (std::int64_t i = 0; i < width; ++i) {
          const float g = from[i] * scale[i];
          sum_g += g;
          sum_gz += g * ((value[i] - m) * s);
        }
        const float mean_g = sum_g / static_cast<float>(width);
        const float mean_gz = sum_gz / static_cast<float>(width);
#pragma omp simd
        for (std::int64_t i = 0; i < width; ++i)
          to[i] = (from[i] * scale[i] - mean_g - (value[i] - m) * s * mean_gz) * s;
      }
    });
    ParallelPieces(threads, width, 256, [&](std::int64_t begin, std::int64_t end) {
      float *dscale = As<float>(out[1]), *doffset = As<float>(out[2]);
      std::fill(dscale + begin, dscale + end, 0.F);
      std::fill(doffset + begin, doffset + end, 0.F);
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = As<float>(in[0]) + row * dy_stride;
        const float* value = As<float>(in[1]) + row * x_stride;
        const float m = mean[row * mean_stride], s = inverse_std[row * std_stride];
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          dscale[i] += from[i] * ((value[i] - m) * s);
          doffset[i] += from[i];
        }
      }
    });
  });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeLayerNorm(const KernelCall& call, int threads) {
  // The loops need batch and rows as one axis.
  KernelCall joined = call;
  for (auto* arguments : {&joined.inputs, &joined.outputs}) {
    for (Argument& argument : *arguments) {
      if (argument.view.shape.size() > 1 && !JoinFirstAxes(argument.view)) {
        return PackUnless(&IsContiguous, &MakeLayerNorm, call, threads);
      }
    }
  }
  const auto make = [](const KernelCall& rows, int threads) {
    const bool is_forward = rows.kind == KernelKind::kLayerNormForward;
    return is_forward ? MakeLayerNormForward(rows, threads) : MakeLayerNormBackward(rows, threads);
  };
  if (auto packed = PackUnless(&HasDenseRows, make, joined, threads)) return packed;
  return make(joined, threads);
}

}  // namespace emplace::cpu
