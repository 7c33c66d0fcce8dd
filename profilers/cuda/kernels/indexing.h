#pragma once

// Gather and scatter-add of the rows of a table by index. All tensors are row-major without holes.
// Indices are taken modulo the number of rows of the table.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// out [n, row_bytes] = table[indices [n]].
struct GatherJob {
  std::int64_t table_rows = 0, n = 0, row_bytes = 0;
  DType index_dtype = DType::kI64;
  const void *table = nullptr, *indices = nullptr;
  void* out = nullptr;
};
void LaunchGather(const GatherJob& job, cudaStream_t stream);

/// table [v, width] += alpha * rows [n, width] at indices [n]. Additions are atomic and their order
/// is not fixed, so the last digits of results may differ between launches.
struct ScatterAddJob {
  std::int64_t table_rows = 0, n = 0, width = 0;
  DType index_dtype = DType::kI64;
  float alpha = 1;
  const float* rows = nullptr;
  const void* indices = nullptr;
  float* table = nullptr;
};
void LaunchScatterAdd(const ScatterAddJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
