#pragma once

// Functions that this project's kernels share: launching, traversing strided operands, loading any
// dtype, sums over threads.

#include <cstdint>

#include <cuda_runtime.h>

#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

inline constexpr unsigned kBlock =
    256;  ///< threads of a block, unless a kernel needs another number
inline constexpr unsigned kWarp = 32;

/// Enqueues `kernel` and checks the launch.
/// @param name  for the error
/// @throws CudaError
template <class... Parameters, class... Arguments>
void Launch(const char* name,
            void (*kernel)(Parameters...),
            dim3 blocks,
            dim3 threads,
            cudaStream_t stream,
            const Arguments&... arguments) {
#ifdef __CUDACC__
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
  const cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess) {
    throw CudaError(name,
                    __FILE__,
                    __LINE__,
                    static_cast<int>(result),
                    cudaGetErrorName(result),
                    cudaGetErrorString(result));
  }
#else
  // A test compiles this file for the host. Its RunOnHost() runs kernels there (on_host.h).
  RunOnHost(name, kernel, blocks, threads, stream, arguments...);
#endif
}

/// Computes the position of the element with this linear index in each operand.
/// @param offsets  results, in elements from the operand's first
template <int N>
__device__ inline void OffsetsOf(const Strided<N>& dims,
                                 std::uint32_t index,
                                 std::int64_t (&offsets)[N]) {
  for (int n = 0; n < N; ++n) offsets[n] = 0;
  for (int d = dims.rank - 1; d >= 0; --d) {
    // The outermost index needs no division.
    const std::uint32_t outer = d == 0 ? 0 : index / dims.shape[d];
    const std::uint32_t at = index - outer * dims.shape[d];
    for (int n = 0; n < N; ++n) offsets[n] += at * dims.strides[n][d];
    index = outer;
  }
}

/// Returns element `index` of an array of `dtype` as a T.
template <class T>
__device__ inline T LoadAs(const void* data, DType dtype, std::int64_t index) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<T>(static_cast<const float*>(data)[index]);
    case DType::kI32:
      return static_cast<T>(static_cast<const std::int32_t*>(data)[index]);
    case DType::kI64:
      return static_cast<T>(static_cast<const std::int64_t*>(data)[index]);
    case DType::kBool:
      return static_cast<T>(static_cast<const std::uint8_t*>(data)[index] != 0);
  }
  return T{};
}

template <class T>
__device__ inline void StoreAs(void* data, DType dtype, std::int64_t index, T value) {
  switch (dtype) {
    case DType::kF32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      break;
    case DType::kI32:
      static_cast<std::int32_t*>(data)[index] = static_cast<std::int32_t>(value);
      break;
    case DType::kI64:
      static_cast<std::int64_t*>(data)[index] = static_cast<std::int64_t>(value);
      break;
    case DType::kBool:
      static_cast<std::uint8_t*>(data)[index] = value != T{} ? 1 : 0;
      break;
  }
}

/// Returns `index` modulo `size`, in [0, size) for negative indices, too.
__device__ inline std::int64_t Wrapped(std::int64_t index, std::int64_t size) {
  const std::int64_t rest = index % size;
  return rest < 0 ? rest + size : rest;
}

struct SumOf {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct MaximumOf {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

/// Combines the values of the kWidth threads of a group. Every thread gets the result. A group is a
/// row of the block, blockDim = (kWidth, groups). It is a warp, or the whole block if kWidth =
/// kBlock.
template <unsigned kWidth, class T, class Combine>
__device__ inline T CombineGroup(T value, Combine combine) {
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  if constexpr (kWidth > kWarp) {
    static_assert(kWidth == kBlock);
    constexpr unsigned kWarps = kWidth / kWarp;
    __shared__ T of_warp[kWarps];
    if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = of_warp[0];
    for (unsigned w = 1; w < kWarps; ++w) value = combine(value, of_warp[w]);
    __syncthreads();  // before the next use of of_warp
  }
  return value;
}

}  // namespace emplace::cuda
