#pragma once

// Ranges of numbers, and sums along rows.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// out[i * stride] = start + i step, as `dtype`.
struct RangeJob {
  DType dtype = DType::kF32;
  double start = 0, step = 1;
  std::int64_t count = 0, stride = 1;
  void* out = nullptr;
};
void LaunchRange(const RangeJob& job, cudaStream_t stream);

/// y[r, i] = x[r, 0] + ... + x[r, i], both row-major. Sums are in f64, which represents integers
/// below 2^53 exactly.
struct CumulativeSumJob {
  DType x_dtype = DType::kF32, y_dtype = DType::kF32;
  std::int64_t rows = 0, width = 0;
  const void* x = nullptr;
  void* y = nullptr;
};
void LaunchCumulativeSum(const CumulativeSumJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
