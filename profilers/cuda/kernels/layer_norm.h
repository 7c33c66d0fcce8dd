#pragma once

// Layer norm over rows (KernelKind has the formulas). All tensors are row-major without holes.

#include <cstdint>

#include <cuda_runtime_api.h>

namespace emplace::cuda {

/// Arguments of a forward launch. Device pointers are named as in KernelKind.
struct LayerNormForward {
  std::int64_t rows = 0, width = 0;
  float epsilon = 0;
  const float *x = nullptr, *scale = nullptr, *offset = nullptr;  ///< [rows, width], [width] twice
  float *y = nullptr, *mean = nullptr, *inverse_std = nullptr;    ///< [rows, width], [rows] twice
};
void LaunchLayerNormForward(const LayerNormForward& job, cudaStream_t stream);

/// Arguments of a backward launch, with shapes as in KernelKind.
struct LayerNormBackward {
  std::int64_t rows = 0, width = 0;
  const float *dy = nullptr, *x = nullptr, *mean = nullptr, *inverse_std = nullptr,
              *scale = nullptr;
  float *dx = nullptr, *dscale = nullptr, *doffset = nullptr;
  void* scratch = nullptr;  ///< LayerNormScratchBytes()
};
/// Returns the scratch for partial sums [B].
std::int64_t LayerNormScratchBytes(std::int64_t rows, std::int64_t width);
void LaunchLayerNormBackward(const LayerNormBackward& job, cudaStream_t stream);

}  // namespace emplace::cuda
