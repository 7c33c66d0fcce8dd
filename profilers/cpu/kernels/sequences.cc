// Ranges of numbers, and sums along rows.

#include <type_traits>

#include "profilers/cpu/kernels/simd.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

template <typename T>
std::unique_ptr<ViewKernel> MakeRangeOf(const KernelCall& call) {
  const TensorView& y = call.outputs[0].view;
  return MakeKernel([count = y.shape[0],
                     stride = y.strides[0],
                     start = call.params.alpha,
                     step = call.params.step](void* const*, void* const* out, void*) {
    for (std::int64_t i = 0; i < count; ++i) {
      As<T>(out[0])[i * stride] = static_cast<T>(start + step * static_cast<double>(i));
    }
  });
}

template <typename X, typename Y>
std::unique_ptr<ViewKernel> MakeSumsOf(const KernelCall& call, int threads) {
  using Total = std::conditional_t<std::is_floating_point_v<Y>, double, Y>;
  const TensorView &x = call.inputs[0].view, &y = call.outputs[0].view;
  const std::int64_t rows = x.shape[0], width = x.shape[1];
  return MakeKernel(
      [=, from = x.strides, to = y.strides](void* const* in, void* const* out, void*) {
        ParallelRanges(threads, rows, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            const X* values = As<X>(in[0]) + row * from[0];
            Y* sums = As<Y>(out[0]) + row * to[0];
            Total total = 0;
            for (std::int64_t i = 0; i < width; ++i) {
              total += values[i * from[1]];
              sums[i * to[1]] = static_cast<Y>(total);
            }
          }
        });
      });
}

}  // namespace

std::unique_ptr<ViewKernel> MakeRange(const KernelCall& call, int) {
  return OfType(call.outputs[0].view.dtype, [&]<typename T>(T) { return MakeRangeOf<T>(call); });
}

std::unique_ptr<ViewKernel> MakeCumulativeSum(const KernelCall& call, int threads) {
  const bool is_wide = call.outputs[0].view.dtype == DType::kI64;
  switch (call.inputs[0].view.dtype) {
    case DType::kF32:
      return MakeSumsOf<float, float>(call, threads);
    case DType::kI32:
      return is_wide ? MakeSumsOf<std::int32_t, std::int64_t>(call, threads)
                     : MakeSumsOf<std::int32_t, std::int32_t>(call, threads);
    case DType::kI64:
      return MakeSumsOf<std::int64_t, std::int64_t>(call, threads);
    case DType::kBool:
      return MakeSumsOf<std::uint8_t, std::int64_t>(call, threads);
  }
  Refuse(call, "unknown type");
}

}  // namespace emplace::cpu
