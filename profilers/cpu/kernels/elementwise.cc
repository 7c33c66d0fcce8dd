// Elementwise functions over strided views: own loops for arithmetic, which run at the speed of
// memory. Exponentials and their like are in mathematics.cc.

#include <algorithm>
#include <array>
#include <cmath>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
namespace {

// One row of y = f(inputs): strides in elements of each view's own type.
struct Row {
  void* y;
  std::int64_t y_stride;
  std::array<const void*, 3> in;       // nullptr: missing
  std::array<std::int64_t, 3> stride;  // of the inputs
  std::int64_t count;
  double alpha;
};

// Only these row functions know types, so that the walk over the rows is compiled just once.
using RowFunction = void (*)(const Row& row);

// y = f(a)
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

// y = f(a, b, alpha), where a missing b is alpha; broadcast and dense operands have loops of their
// own.
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

template <std::size_t kViews>
std::unique_ptr<ViewKernel> MakeRowsOf(const KernelCall& call, int threads, RowFunction function) {
  std::array<const TensorView*, kViews> views{&call.outputs[0].view};
  std::array<std::int64_t, kViews> bytes{SizeOf(call.outputs[0].view.dtype)};
  for (std::size_t v = 1; v < kViews; ++v) {
    views[v] = &call.inputs[v - 1].view;
    bytes[v] = SizeOf(views[v]->dtype);
  }
  const double alpha = call.params.alpha;
  return MakeKernel([loops = MergeLoops(views), bytes, alpha, threads, function](
                        void* const* in, void* const* out, void*) {
    ForEachRow<kViews>(loops, threads, [&](const auto& at, std::int64_t count) {
      Row row{At(out[0], at[0] * bytes[0]), loops.row_stride(0), {}, {}, count, alpha};
      for (std::size_t v = 1; v < kViews; ++v) {
        row.in[v - 1] = At(in[v - 1], at[v] * bytes[v]);
        row.stride[v - 1] = loops.row_stride(static_cast<int>(v));
      }
      function(row);
    });
  });
}

// The kernel that applies `function` to every row of its one output and its inputs.
std::unique_ptr<ViewKernel> MakeRows(const KernelCall& call, int threads, RowFunction function) {
  switch (call.inputs.size()) {
    case 1:
      return MakeRowsOf<2>(call, threads, function);
    case 2:
      return MakeRowsOf<3>(call, threads, function);
    default:
      return MakeRowsOf<4>(call, threads, function);
  }
}

// The function of a list for `dtype`: f32, i32, i64, bool.
RowFunction OfType(DType dtype, const std::array<RowFunction, 4>& functions) {
  return functions[static_cast<std::size_t>(dtype)];
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

std::unique_ptr<ViewKernel> MakeNegative(const KernelCall& call, int threads) {
  constexpr auto kNegative = [](auto a) { return -a; };
  using F = decltype(kNegative);
  return MakeRows(call,
                  threads,
                  OfType(call.inputs[0].view.dtype,
                         {&UnaryRow<float, float, F>,
                          &UnaryRow<std::int32_t, std::int32_t, F>,
                          &UnaryRow<std::int64_t, std::int64_t, F>,
                          nullptr}));
}

template <typename F>
std::unique_ptr<ViewKernel> MakeUnaryF32(const KernelCall& call, int threads, F) {
  return MakeRows(call, threads, &UnaryRow<float, float, F>);
}

template <typename F>
std::unique_ptr<ViewKernel> MakeBinaryF32(const KernelCall& call, int threads, F) {
  return MakeRows(call, threads, &BinaryRow<float, float, float, F>);
}

std::unique_ptr<ViewKernel> MakeGreaterEqual(const KernelCall& call, int threads) {
  constexpr auto kGreaterEqual = [](auto a, auto b, auto) {
    return static_cast<std::uint8_t>(a >= b);
  };
  using F = decltype(kGreaterEqual);
  return MakeRows(call,
                  threads,
                  OfType(call.inputs[0].view.dtype,
                         {&BinaryRow<float, float, std::uint8_t, F>,
                          &BinaryRow<std::int32_t, std::int32_t, std::uint8_t, F>,
                          &BinaryRow<std::int64_t, std::int64_t, std::uint8_t, F>,
                          &BinaryRow<std::uint8_t, std::uint8_t, std::uint8_t, F>}));
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
    case Function::kDiv:
      return MakeBinaryF32(call, threads, [](float a, float b, float) { return a / b; });
    case Function::kMinimum:
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return b < a ? b : a; });
    case Function::kMaximum:
      return MakeArithmetic(call, threads, [](auto a, auto b, auto) { return a < b ? b : a; });
    case Function::kNeg:
      return MakeNegative(call, threads);
    case Function::kGreaterEqual:
      return MakeGreaterEqual(call, threads);
    case Function::kSqrt:
      return MakeUnaryF32(call, threads, [](float a) { return std::sqrt(a); });
    case Function::kCast:
      return MakeCast(call, threads);
    case Function::kRelu:
      return MakeUnaryF32(call, threads, [](float a) { return a > 0 ? a : 0; });
    case Function::kReluGrad:
      return MakeBinaryF32(
          call, threads, [](float dy, float b, float threshold) { return b > threshold ? dy : 0; });
    case Function::kSigmoidGrad:
      return MakeBinaryF32(
          call, threads, [](float y, float dy, float) { return dy * y * (1 - y); });
    case Function::kTanhGrad:
      return MakeBinaryF32(
          call, threads, [](float y, float dy, float) { return dy * (1 - y * y); });
    case Function::kExp:
    case Function::kLog:
    case Function::kSigmoid:
    case Function::kTanh:
    case Function::kGelu:
    case Function::kGeluGrad:
    case Function::kGeluTanh:
    case Function::kGeluTanhGrad:
      return MakeMathematics(call, threads);
    case Function::kNone:
    case Function::kSum:
    case Function::kMean:
    case Function::kHalfSumOfSquares:
      break;
  }
  Refuse(call, "\"" + std::string(ToString(function)) + "\" is no elementwise function");
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
