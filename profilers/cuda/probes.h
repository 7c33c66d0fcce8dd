#pragma once

// Tiny kernels for measurements and tests.

#include <cstdint>

#include <cuda_runtime_api.h>

namespace emplace::cuda {

/// A kernel that does nothing. @throws CudaError
void LaunchNull(cudaStream_t stream);
/// Writes `value` to `*flag`, which is host memory that the GPU can reach, as soon as it runs.
void LaunchStamp(std::uint64_t* flag, std::uint64_t value, cudaStream_t stream);
/// Counts how many of its blocks ran on each SM. Only tests use it, to see that a partition keeps
/// to its SMs; it stands here because only this folder is compiled by nvcc.
/// @param blocks_on_sm  [kMaxSms] on the GPU, to which the counts are added
void LaunchSmCensus(unsigned* blocks_on_sm, int blocks, cudaStream_t stream);
inline constexpr int kMaxSms = 1024;

}  // namespace emplace::cuda
