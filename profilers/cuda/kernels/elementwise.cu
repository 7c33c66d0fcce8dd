#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/elementwise.h"
#include "profilers/kernels/function_table.h"

namespace emplace::cuda {
namespace {

constexpr int kOperands = 1 + kMaxElementwiseInputs;

template <class T>
__device__ inline T NormalCdf(T x) {
  return T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752)));
}

// The inner function of the tanh approximation of GELU and its derivative.
template <class T>
__device__ inline T GeluInner(T x) {
  return T(0.79788456080286536) * (x + T(0.044715) * x * x * x);
}
template <class T>
__device__ inline T GeluInnerSlope(T x) {
  return T(0.79788456080286536) * (T(1) + T(3 * 0.044715) * x * x);
}

// The exponents of norms and their gradients come first. All threads take the same branch.
template <class T>
__device__ inline T PowerOf(T a, T exponent) {
  if (exponent == T(1)) return a;
  if (exponent == T(2)) return a * a;
  if (exponent == T(3)) return a * a * a;
  if (exponent == T(-1)) return T(1) / a;
  return std::pow(a, exponent);
}

template <class T>
__device__ inline T Logistic(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

template <class T>
__device__ inline T HardSigmoid(T x) {
  const T y = x + T(3);
  return (y < T(0) ? T(0) : y > T(6) ? T(6) : y) / T(6);
}

template <class T>
__device__ inline T Evaluate(Function function, T a, T b, T alpha) {
  switch (function) {
    case Function::kAdd:
      return a + b;
    case Function::kSub:
      return a - b;
    case Function::kReverseSub:
      return b - a;
    case Function::kMul:
      return a * b;
    case Function::kDiv:
      return a / b;
    case Function::kMinimum:
      return a < b ? a : b;
    case Function::kMaximum:
      return a > b ? a : b;
    case Function::kPow:
      return PowerOf(a, b);
    case Function::kGreater:
      return a > b ? T(1) : T(0);
    case Function::kGreaterEqual:
      return a >= b ? T(1) : T(0);
    case Function::kLess:
      return a < b ? T(1) : T(0);
    case Function::kLessEqual:
      return a <= b ? T(1) : T(0);
    case Function::kEqual:
      return a == b ? T(1) : T(0);
    case Function::kXor:  // a second operand that is not a tensor may be any number
      return (a != T(0)) != (b != T(0)) ? T(1) : T(0);
    case Function::kNotEqual:
      return a != b ? T(1) : T(0);
    case Function::kAnd:
      return a != T(0) && b != T(0) ? T(1) : T(0);
    case Function::kOr:
      return a != T(0) || b != T(0) ? T(1) : T(0);
    case Function::kNot:
      return a == T(0) ? T(1) : T(0);
    case Function::kNeg:
      return -a;
    case Function::kAbs:
      return a < T(0) ? -a : a;
    case Function::kFloor:
      return std::floor(a);
    case Function::kSqrt:
      return std::sqrt(a);
    case Function::kRsqrt:
      return T(1) / std::sqrt(a);
    case Function::kExp:
      return std::exp(a);
    case Function::kLog:
      return std::log(a);
    case Function::kSin:
      return std::sin(a);
    case Function::kCos:
      return std::cos(a);
    case Function::kErf:
      return std::erf(a);
    case Function::kRelu:
      return a > T(0) ? a : T(0);
    case Function::kReluGrad:
      return b > alpha ? a : T(0);
    case Function::kCapGrad:
      return b < alpha ? a : T(0);
    case Function::kLeakyRelu:
      return a > T(0) ? a : b * a;
    case Function::kLeakyReluGrad:
      return b > T(0) ? a : alpha * a;
    case Function::kElu:
      return a > T(0) ? a : b * std::expm1(a);
    case Function::kEluGrad:
      return b > T(0) ? a : a * alpha * std::exp(b);
    case Function::kSigmoid:
      return Logistic(a);
    case Function::kSigmoidGrad:
      return b * a * (T(1) - a);
    case Function::kTanh:
      return std::tanh(a);
    case Function::kTanhGrad:
      return b * (T(1) - a * a);
    case Function::kGelu:
      return a * NormalCdf(a);
    case Function::kGeluGrad:
      return a * (NormalCdf(b) + b * T(0.39894228040143268) * std::exp(T(-0.5) * b * b));
    case Function::kGeluTanh:
      return T(0.5) * a * (T(1) + std::tanh(GeluInner(a)));
    case Function::kGeluTanhGrad: {
      const T t = std::tanh(GeluInner(b));
      return a * T(0.5) * (T(1) + t + b * (T(1) - t * t) * GeluInnerSlope(b));
    }
    case Function::kSilu:
      return a * Logistic(a);
    case Function::kSiluGrad: {
      const T s = Logistic(b);
      return a * s * (T(1) + b * (T(1) - s));
    }
    case Function::kSoftplus:  // log(1 + exp(a)) = max(a, 0) + log(1 + exp(-|a|)), without overflow
      return (a > T(0) ? a : T(0)) + std::log1p(std::exp(a > T(0) ? -a : a));
    case Function::kSoftplusGrad:
      return a * Logistic(b);
    case Function::kHardSigmoid:
      return HardSigmoid(a);
    case Function::kHardSigmoidGrad:
      return b > T(-3) && b < T(3) ? a / T(6) : T(0);
    case Function::kHardSwish:
      return a * HardSigmoid(a);
    case Function::kHardSwishGrad:
      return b < T(-3) ? T(0) : b > T(3) ? a : a * (b / T(3) + T(0.5));
    default:  // kCast; reductions are refused earlier
      return a;
  }
}

template <Function kFunction>
__global__ void FlatKernel(const float* a,
                           const float* b,
                           float* out,
                           float alpha,
                           std::int64_t count) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 4;
  if (i + 4 <= count) {
    const float4 x = *reinterpret_cast<const float4*>(a + i);
    float4 y = make_float4(alpha, alpha, alpha, alpha);
    if (b != nullptr) y = *reinterpret_cast<const float4*>(b + i);
    *reinterpret_cast<float4*>(out + i) = make_float4(Evaluate(kFunction, x.x, y.x, alpha),
                                                      Evaluate(kFunction, x.y, y.y, alpha),
                                                      Evaluate(kFunction, x.z, y.z, alpha),
                                                      Evaluate(kFunction, x.w, y.w, alpha));
  } else {
    for (std::int64_t j = i; j < count; ++j) {
      out[j] = Evaluate(kFunction, a[j], b != nullptr ? b[j] : alpha, alpha);
    }
  }
}

struct FlatInputs {
  const float* of[kMaxElementwiseInputs];
};

__global__ void FlatSumKernel(FlatInputs inputs, int num_inputs, float* out, std::int64_t count) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 4;
  if (i + 4 <= count) {
    float4 sum = *reinterpret_cast<const float4*>(inputs.of[0] + i);
    for (int n = 1; n < num_inputs; ++n) {
      const float4 x = *reinterpret_cast<const float4*>(inputs.of[n] + i);
      sum = make_float4(sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w);
    }
    *reinterpret_cast<float4*>(out + i) = sum;
  } else {
    for (std::int64_t j = i; j < count; ++j) {
      float sum = inputs.of[0][j];
      for (int n = 1; n < num_inputs; ++n) sum += inputs.of[n][j];
      out[j] = sum;
    }
  }
}

// The computation is in T. Without kAnyDType all operands are T.
template <class T, bool kAnyDType>
__device__ inline T Read(const ElementwiseJob& job, int input, std::int64_t at) {
  if constexpr (kAnyDType) return LoadAs<T>(job.inputs[input], job.input_dtypes[input], at);
  return static_cast<const T*>(job.inputs[input])[at];
}

template <class T, bool kAnyDType>
__global__ void StridedKernel(const __grid_constant__ ElementwiseJob job) {
  constexpr int kFew = 4;  // output and up to three inputs: functions and selection
  const int per_thread = job.per_thread;
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * per_thread;
  if (first >= job.dims.count) return;
  const int last = job.dims.rank - 1;
  std::int64_t at[kFew] = {};
  std::uint32_t index = static_cast<std::uint32_t>(first);
  for (int d = last; d >= 0; --d) {
    const std::uint32_t outer = d == 0 ? 0 : index / job.dims.shape[d];
    const std::uint32_t digit = index - outer * job.dims.shape[d];
    for (int n = 0; n < kFew; ++n) at[n] += digit * job.dims.strides[n][d];
    index = outer;
  }
  const T alpha = static_cast<T>(job.alpha);
  for (int i = 0; i < per_thread; ++i) {
    T result;
    if (job.is_select) {
      const bool condition = Read<T, kAnyDType>(job, 0, at[1]) != T(0);
      const T second = Read<T, kAnyDType>(job, 1, at[2]);
      if (job.num_inputs > 2) {
        result = condition ? second : Read<T, kAnyDType>(job, 2, at[3]);
      } else {
        result = condition ? alpha : second;
      }
    } else {
      const T b = job.num_inputs > 1 ? Read<T, kAnyDType>(job, 1, at[2]) : alpha;
      result = Evaluate(job.function, Read<T, kAnyDType>(job, 0, at[1]), b, alpha);
    }
    if constexpr (kAnyDType) {
      StoreAs(job.output, job.output_dtype, at[0], result);
    } else {
      static_cast<T*>(job.output)[at[0]] = result;
    }
    if (last >= 0) {
      for (int n = 0; n < kFew; ++n) at[n] += job.dims.strides[n][last];
    }
  }
}

template <class T>
__global__ void StridedSumKernel(const __grid_constant__ ElementwiseJob job) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= job.dims.count) return;
  std::int64_t at[kOperands];
  OffsetsOf(job.dims, static_cast<std::uint32_t>(index), at);
  T sum = T(0);
  for (int n = 0; n < job.num_inputs; ++n) sum += Read<T, true>(job, n, at[1 + n]);
  StoreAs(job.output, job.output_dtype, at[0], sum);
}

template <Function kFunction>
void LaunchFlat(const ElementwiseJob& job, cudaStream_t stream) {
  Launch("Elementwise",
         FlatKernel<kFunction>,
         dim3(BlocksFor(job.dims.count, kBlock * 4)),
         dim3(kBlock),
         stream,
         static_cast<const float*>(job.inputs[0]),
         static_cast<const float*>(job.num_inputs > 1 ? job.inputs[1] : nullptr),
         static_cast<float*>(job.output),
         static_cast<float>(job.alpha),
         static_cast<std::int64_t>(job.dims.count));
}

// Launches the functions of the table that have a result for f32.
template <std::size_t... kRows>
void LaunchFlat(const ElementwiseJob& job, cudaStream_t stream, std::index_sequence<kRows...>) {
  const auto try_row = [&]<std::size_t kRow>(std::integral_constant<std::size_t, kRow>) {
    constexpr FunctionDescription kDescription = kFunctionTable[kRow];
    if constexpr (kDescription.arity == Arity::kNone || kDescription.arity == Arity::kReduction ||
                  kDescription.types == FunctionTypes::kComparison) {
      return false;
    } else {
      if (job.function != kDescription.function) return false;
      LaunchFlat<kDescription.function>(job, stream);
      return true;
    }
  };
  const bool is_launched = (try_row(std::integral_constant<std::size_t, kRows>()) || ...);
  EMPLACE_CHECK(is_launched, "no elementwise function");
}

bool IsAlignedForVectors(const ElementwiseJob& job) {
  auto address = reinterpret_cast<std::uintptr_t>(job.output);
  for (int n = 0; n < job.num_inputs; ++n)
    address |= reinterpret_cast<std::uintptr_t>(job.inputs[n]);
  return address % sizeof(float4) == 0;
}

}  // namespace

void LaunchElementwise(const ElementwiseJob& job, cudaStream_t stream) {
  const std::int64_t count = job.dims.count;
  if (count == 0) return;
  const bool is_flat = job.path == ElementwisePath::kFlat && IsAlignedForVectors(job);
  if (job.num_inputs > 2 && !job.is_select) {
    EMPLACE_CHECK(job.function == Function::kAdd);
    if (is_flat) {
      FlatInputs inputs{};
      for (int n = 0; n < job.num_inputs; ++n) {
        inputs.of[n] = static_cast<const float*>(job.inputs[n]);
      }
      Launch("Sum",
             FlatSumKernel,
             dim3(BlocksFor(count, kBlock * 4)),
             dim3(kBlock),
             stream,
             inputs,
             job.num_inputs,
             static_cast<float*>(job.output),
             count);
      return;
    }
    const auto kernel =
        job.path == ElementwisePath::kWide ? &StridedSumKernel<double> : &StridedSumKernel<float>;
    Launch("Sum", kernel, dim3(BlocksFor(count, kBlock)), dim3(kBlock), stream, job);
    return;
  }
  if (is_flat) {
    return LaunchFlat(job, stream, std::make_index_sequence<std::size(kFunctionTable)>());
  }
  const bool is_float = job.path == ElementwisePath::kFloat || job.path == ElementwisePath::kFlat;
  const auto kernel = is_float                             ? &StridedKernel<float, false>
                      : job.path == ElementwisePath::kWide ? &StridedKernel<double, true>
                                                           : &StridedKernel<float, true>;
  Launch("Elementwise",
         kernel,
         dim3(BlocksFor(count, static_cast<std::int64_t>(kBlock) * job.per_thread)),
         dim3(kBlock),
         stream,
         job);
}

}  // namespace emplace::cuda
