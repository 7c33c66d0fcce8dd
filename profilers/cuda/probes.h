#pragma once

// Tiny kernels for measurements and tests.

#include <cstdint>

#include <cuda_runtime_api.h>

namespace emplace::cuda {

/// Launches a kernel that does nothing.
/// @throws CudaError
void LaunchNull(cudaStream_t stream);
/// Launches a kernel that writes `value` to `*flag`, host memory that the GPU can access.
void LaunchStamp(std::uint64_t* flag, std::uint64_t value, cudaStream_t stream);
/// Counts the blocks that ran on each SM. Only tests use it, to check that a partition uses only
/// its SMs. It is here because nvcc compiles only this folder.
/// @param blocks_on_sm  [kMaxSms] on the GPU; the counts are added to it
void LaunchSmCensus(unsigned* blocks_on_sm, int blocks, cudaStream_t stream);
inline constexpr int kMaxSms = 1024;

}  // namespace emplace::cuda
