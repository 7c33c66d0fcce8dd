// Elementwise functions over strided views: arithmetic, casts and selection in hand-written loops,
// which run at memory speed. Others are in comparisons.cc, float_functions.cc and mathematics.cc.

#include <algorithm>
#include <array>
#include <type_traits>

#include "profilers/cpu/kernels/rows.h"
#include "profilers/cpu/kernels/view_kernel.h"
#include "profilers/kernels/function_table.h"

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

// Bools have no arithmetic.
template <typename T>
constexpr bool kIsNumber = !std::is_same_v<T, std::uint8_t>;

template <typename F>
std::unique_ptr<ViewKernel> MakeArithmetic(const KernelCall& call, int threads, F) {
  constexpr auto kRow = []<typename T>(T) -> RowFunction {
    if constexpr (kIsNumber<T>) return &BinaryRow<T, T, T, F>;
    return nullptr;
  };
  return MakeRows(call, threads, OfType(call.inputs[0].view.dtype, kRow));
}

template <typename F>
std::unique_ptr<ViewKernel> MakeNumbers(const KernelCall& call, int threads, F) {
  constexpr auto kRow = []<typename T>(T) -> RowFunction {
    if constexpr (kIsNumber<T>) return &UnaryRow<T, T, F>;
    return nullptr;
  };
  return MakeRows(call, threads, OfType(call.inputs[0].view.dtype, kRow));
}

std::unique_ptr<ViewKernel> MakeCast(const KernelCall& call, int threads) {
  return MakeRows(
      call, threads, OfType(call.outputs[0].view.dtype, [&]<typename Y>(Y) -> RowFunction {
        constexpr auto kCast = [](auto a) {
          if constexpr (kIsNumber<Y>) return static_cast<Y>(a);
          return static_cast<Y>(a != 0);
        };
        return OfType(call.inputs[0].view.dtype, []<typename A>(A) -> RowFunction {
          return &UnaryRow<A, Y, decltype(kCast)>;
        });
      }));
}

// Sums three or more inputs, in pieces that fit into the cache. An output may be any of the inputs.
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
  return OfType(call.inputs[0].view.dtype,
                [&]<typename T>(T) { return MakeSumOfDense<T>(call, threads); });
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
    default:
      return DescriptionOf(function).types == FunctionTypes::kFloat
                 ? MakeFloatFunction(call, threads)
                 : MakeComparison(call, threads);
  }
}

std::unique_ptr<ViewKernel> MakeSelect(const KernelCall& call, int threads) {
  constexpr auto kAlphaOr = [](std::uint8_t choice, auto other, auto alpha) {
    return choice != 0 ? alpha : other;
  };
  return MakeRows(
      call, threads, OfType(call.outputs[0].view.dtype, [&]<typename T>(T) -> RowFunction {
        if (call.inputs.size() == 3) return &SelectRow<T>;
        return &BinaryRow<std::uint8_t, T, T, decltype(kAlphaOr)>;
      }));
}

}  // namespace emplace::cpu
