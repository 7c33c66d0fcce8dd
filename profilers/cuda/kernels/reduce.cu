#include <cmath>

#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/reduce.h"

namespace emplace::cuda {
namespace {

constexpr unsigned kColumnRows = 8;  // rows of threads in a block of columns

// The contribution of a term to the sum.
template <class T>
__device__ inline T TermOf(Function function, T x) {
  return function == Function::kHalfSumOfSquares ? x * x : x;
}
// The combination of two partial results, and the initial value.
struct TermsOf {
  Function function;
  template <class T>
  __device__ T operator()(T a, T b) const {
    return function != Function::kMax ? a + b : a > b ? a : b;
  }
  template <class T>
  __device__ T Start() const {
    return function == Function::kMax ? -static_cast<T>(INFINITY) : T(0);
  }
};
template <class T>
__device__ inline T ResultOf(const ReduceJob& job, T sum) {
  if (job.function == Function::kMean) return sum / static_cast<T>(job.reduced.count);
  return job.function == Function::kHalfSumOfSquares ? sum / T(2) : sum;
}

template <class T>
__device__ inline T Read(const ReduceJob& job, std::int64_t at) {
  // f64 is used only if integers are involved.
  if constexpr (sizeof(T) == sizeof(float)) {
    if (job.input_dtype == DType::kF32) return static_cast<const float*>(job.input)[at];
  }
  return LoadAs<T>(job.input, job.input_dtype, at);
}

template <class T>
__device__ inline void Write(const ReduceJob& job,
                             std::uint32_t output,
                             std::uint32_t split,
                             std::int64_t at,
                             T value) {
  if (job.shape.splits > 1) {
    static_cast<T*>(job.partial)[static_cast<std::int64_t>(split) * job.kept.count + output] =
        value;
  } else {
    StoreAs(job.output, job.output_dtype, at, ResultOf(job, value));
  }
}

// Sums the terms first, first + step, ... below `end` of one output.
template <class T>
__device__ inline T Walk(const ReduceJob& job,
                         std::int64_t base,
                         std::uint32_t first,
                         std::uint32_t end,
                         std::uint32_t step) {
  const TermsOf terms{job.function};
  T value = terms.template Start<T>();
  for (std::uint32_t r = first; r < end; r += step) {
    std::int64_t at[1];
    OffsetsOf(job.reduced, r, at);
    value = terms(value, TermOf(job.function, Read<T>(job, base + at[0])));
  }
  return value;
}

__device__ inline std::uint32_t EndOfSplit(const ReduceJob& job, std::uint32_t begin) {
  const std::uint32_t left = job.reduced.count - begin;
  return begin + (job.shape.per_split < left ? job.shape.per_split : left);
}

// blockDim = (kGroup, groups), grid = (outputs / groups, splits).
template <class T, unsigned kGroup>
__global__ void RowsKernel(const __grid_constant__ ReduceJob job) {
  const std::uint32_t output = blockIdx.x * blockDim.y + threadIdx.y;
  if (output >= job.kept.count) return;
  const std::uint32_t begin = blockIdx.y * job.shape.per_split;
  std::int64_t at[2];
  OffsetsOf(job.kept, output, at);
  T value = Walk<T>(job, at[1], begin + threadIdx.x, EndOfSplit(job, begin), kGroup);
  value = CombineGroup<kGroup>(value, TermsOf{job.function});
  if (threadIdx.x == 0) Write(job, output, blockIdx.y, at[0], value);
}

// blockDim = (32, kColumnRows), grid = (outputs / 32, splits).
template <class T>
__global__ void ColumnsKernel(const __grid_constant__ ReduceJob job) {
  __shared__ T of_row[kColumnRows][kWarp];
  const std::uint32_t output = blockIdx.x * kWarp + threadIdx.x;
  const std::uint32_t begin = blockIdx.y * job.shape.per_split;
  std::int64_t at[2] = {};
  const TermsOf terms{job.function};
  T value = terms.template Start<T>();
  if (output < job.kept.count) {
    OffsetsOf(job.kept, output, at);
    value = Walk<T>(job, at[1], begin + threadIdx.y, EndOfSplit(job, begin), kColumnRows);
  }
  of_row[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.y != 0 || output >= job.kept.count) return;
  for (unsigned row = 1; row < kColumnRows; ++row) {
    value = terms(value, of_row[row][threadIdx.x]);
  }
  Write(job, output, blockIdx.y, at[0], value);
}

template <class T>
__global__ void PartialsKernel(const __grid_constant__ ReduceJob job) {
  const std::uint32_t output = blockIdx.x * blockDim.x + threadIdx.x;
  if (output >= job.kept.count) return;
  const TermsOf terms{job.function};
  T value = terms.template Start<T>();
  const T* partial = static_cast<const T*>(job.partial);
  for (std::uint32_t split = 0; split < job.shape.splits; ++split) {
    value = terms(value, partial[static_cast<std::int64_t>(split) * job.kept.count + output]);
  }
  std::int64_t at[2];
  OffsetsOf(job.kept, output, at);
  StoreAs(job.output, job.output_dtype, at[0], ResultOf(job, value));
}

template <class T>
void LaunchAs(const ReduceJob& job, cudaStream_t stream) {
  const std::int64_t outputs = job.kept.count;
  if (job.shape.path == ReducePath::kColumns) {
    Launch("Reduce columns",
           ColumnsKernel<T>,
           dim3(BlocksFor(outputs, kWarp), job.shape.splits),
           dim3(kWarp, kColumnRows),
           stream,
           job);
  } else if (job.shape.group == 32) {
    Launch("Reduce rows",
           RowsKernel<T, kWarp>,
           dim3(BlocksFor(outputs, kBlock / kWarp), job.shape.splits),
           dim3(kWarp, kBlock / kWarp),
           stream,
           job);
  } else {
    Launch("Reduce rows",
           RowsKernel<T, kBlock>,
           dim3(BlocksFor(outputs, 1), job.shape.splits),
           dim3(kBlock),
           stream,
           job);
  }
  if (job.shape.splits > 1) {
    Launch("Reduce partials",
           PartialsKernel<T>,
           dim3(BlocksFor(outputs, kBlock)),
           dim3(kBlock),
           stream,
           job);
  }
}

}  // namespace

void LaunchReduce(const ReduceJob& job, cudaStream_t stream) {
  if (job.kept.count == 0) return;
  if (job.is_wide) {
    LaunchAs<double>(job, stream);
  } else {
    LaunchAs<float>(job, stream);
  }
}

}  // namespace emplace::cuda
