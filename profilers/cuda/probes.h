#pragma once

// Tiny kernels that find things out.

#include <cstdint>

#include <cuda_runtime_api.h>

namespace emplace::cuda {

/// A kernel that does nothing. @throws CudaError
void LaunchNull(cudaStream_t stream);
/// Writes `value` to `*flag` (host memory that the GPU reaches) as soon as it runs.
void LaunchStamp(std::uint64_t* flag, std::uint64_t value, cudaStream_t stream);
/// Counts blocks by the SM they ran on. @param blocks_on_sm  [1024] on the GPU
void LaunchSmCensus(unsigned* blocks_on_sm, int blocks, cudaStream_t stream);
inline constexpr int kMaxSms = 1024;

}  // namespace emplace::cuda
