// Elementwise functions over strided views: arithmetic, casts and selection in own loops, which run
// at the speed of memory. The others are in comparisons.cc, float_functions.cc and mathematics.cc.

#include <algorithm>
#include <array>

#include "profilers/cpu/kernels/rows.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

// y = condition ? yes : no
template <typename T>
void SelectRow(const Row& row) {
  Vectorised([&] {
    const auto* const condition = static_cast<const std::uint8_t*>(row.in[0]);
    const T* const yes = static_cast<const T*>(row.in[1]);
    const T* const no = static_cast<const T*>(row.in[2]);
    T* const y = static_cast<T*>(row.y);
    if (row.y_stride == 1 && row.stride == std::array<std::int64_t, 3>{1, 1, 1}) {
#pragma omp simd
      for (std::int64_t i = 0; i < row.count; ++i) y[i] = condition[i] != 0 ? yes[i] : no[i];
    } else {
      for (std::int64_t i = 0; i < row.count; ++i)
        y[i * row.y_stride] =
            condition[i * row.stride[0]] != 0 ? yes[i * row.stride[1]] : no[i * row.stride[2]];
    }
  });
}

template <typename F>
std::unique_ptr<ViewKernel> MakeArithmetic(const KernelCall& call, int threads, F) {
  return MakeRows(call,
                  threads,
                  OfType(call.inputs[0].view.dtype,
                         {&BinaryRow<float, float, float, F>,
                          &BinaryRow<std::int32_t, std::int32_t, std::int32_t, F>,
                          &BinaryRow<std::int64_t, std::int64_t, std::int64_t, F>,
                          nullptr}));
}

template <typename F>
std::unique_ptr<ViewKernel> MakeNumbers(const KernelCall& call, int threads, F) {
  return MakeRows(call,
                  threads,
                  OfType(call.inputs[0].view.dtype,
                         {&UnaryRow<float, float, F>,
                          &UnaryRow<std::int32_t, std::int32_t, F>,
                          &UnaryRow<std::int64_t, std::int64_t, F>,
                          nullptr}));
}

template <typename Y>
RowFunction CastRow(DType from) {
  constexpr auto kCast = [](auto a) { return static_cast<Y>(a); };
  using F = decltype(kCast);
  return OfType(from,
                {&UnaryRow<float, Y, F>,
                 &UnaryRow<std::int32_t, Y, F>,
                 &UnaryRow<std::int64_t, Y, F>,
                 &UnaryRow<std::uint8_t, Y, F>});
}

RowFunction IsNonzeroRow(DType from) {
  constexpr auto kIsNonzero = [](auto a) { return static_cast<std::uint8_t>(a != decltype(a){0}); };
  using F = decltype(kIsNonzero);
  return OfType(from,
                {&UnaryRow<float, std::uint8_t, F>,
                 &UnaryRow<std::int32_t, std::uint8_t, F>,
                 &UnaryRow<std::int64_t, std::uint8_t, F>,
                 &UnaryRow<std::uint8_t, std::uint8_t, F>});
}

std::unique_ptr<ViewKernel> MakeCast(const KernelCall& call, int threads) {
  const DType from = call.inputs[0].view.dtype;
  const std::array<RowFunction, 4> casts = {CastRow<float>(from),
                                            CastRow<std::int32_t>(from),
                                            CastRow<std::int64_t>(from),
                                            IsNonzeroRow(from)};
  return MakeRows(call, threads, OfType(call.outputs[0].view.dtype, casts));
}

// Sum of three or more inputs, in pieces that stay in the cache: an output may be any of the
// inputs.
template <typename T>
std::unique_ptr<ViewKernel> MakeSumOfDense(const KernelCall& call, int threads) {
  const std::size_t terms = call.inputs.size();
  const std::int64_t n = call.outputs[0].view.num_elements();
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    constexpr std::int64_t kPiece = 1024;
    ParallelPieces(threads, n, kPiece, [&](std::int64_t begin, std::int64_t end) {
      T sums[kPiece];
      const std::int64_t count = end - begin;
      const T *first = As<T>(in[0]) + begin, *second = As<T>(in[1]) + begin;
      for (std::int64_t i = 0; i < count; ++i) sums[i] = first[i] + second[i];
      for (std::size_t k = 2; k < terms; ++k) {
        const T* term = As<T>(in[k]) + begin;
        for (std::int64_t i = 0; i < count; ++i) sums[i] += term[i];
      }
      std::copy_n(sums, count, As<T>(out[0]) + begin);
    });
  });
}

std::unique_ptr<ViewKernel> MakeSum(const KernelCall& call, int threads) {
  if (auto packed = PackUnless(&IsContiguous, &MakeSum, call, threads)) return packed;
  switch (call.inputs[0].view.dtype) {
    case DType::kF32:
      return MakeSumOfDense<float>(call, threads);
    case DType::kI32:
      return MakeSumOfDense<std::int32_t>(call, threads);
    default:
      return MakeSumOfDense<std::int64_t>(call, threads);
  }
}

}  // namespace

std::unique_ptr<ViewKernel> MakeElementwise(const KernelCall& call, int threads) {
  const Function function = call.params.function;
  switch (function) {
    case Function::kAdd:
      if (call.inputs.size() > 2) return MakeSum(call, threads);
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return a + b; });
    case Function::kSub:
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return a - b; });
    case Function::kReverseSub:
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return b - a; });
    case Function::kMul:
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return a * b; });
    case Function::kMinimum:
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return b < a ? b : a; });
    case Function::kMaximum:
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return a < b ? b : a; });
    case Function::kNeg:
      return MakeNumbers(call, threads, [](auto a) { return -a; });
    case Function::kAbs:
      return MakeNumbers(call, threads, [](auto a) { return a < 0 ? -a : a; });
    case Function::kCast:
      return MakeCast(call, threads);
    case Function::kGreater:
    case Function::kGreaterEqual:
    case Function::kLess:
    case Function::kLessEqual:
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kAnd:
    case Function::kOr:
    case Function::kXor:
    case Function::kNot:
      return MakeComparison(call, threads);
    case Function::kExp:
    case Function::kLog:
    case Function::kSigmoid:
    case Function::kTanh:
    case Function::kGelu:
    case Function::kGeluGrad:
    case Function::kGeluTanh:
    case Function::kGeluTanhGrad:
    case Function::kSilu:
    case Function::kSiluGrad:
    case Function::kSoftplus:
    case Function::kSoftplusGrad:
      return MakeMathematics(call, threads);
    default:
      return MakeFloatFunction(call, threads);
  }
}

std::unique_ptr<ViewKernel> MakeSelect(const KernelCall& call, int threads) {
  const TensorView& y = call.outputs[0].view;
  if (call.inputs.size() == 3)
    return MakeRows(call,
                    threads,
                    OfType(y.dtype,
                           {&SelectRow<float>,
                            &SelectRow<std::int32_t>,
                            &SelectRow<std::int64_t>,
                            &SelectRow<std::uint8_t>}));
  constexpr auto kAlphaOr = [](std::uint8_t choice, auto other, auto alpha) {
    return choice != 0 ? alpha : other;
  };
  using F = decltype(kAlphaOr);
  return MakeRows(call,
                  threads,
                  OfType(y.dtype,
                         {&BinaryRow<std::uint8_t, float, float, F>,
                          &BinaryRow<std::uint8_t, std::int32_t, std::int32_t, F>,
                          &BinaryRow<std::uint8_t, std::int64_t, std::int64_t, F>,
                          &BinaryRow<std::uint8_t, std::uint8_t, std::uint8_t, F>}));
}

}  // namespace emplace::cpu
