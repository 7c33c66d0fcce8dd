#pragma once

// Pooling over windows of [n, c, h, w]. cuDNN's kernels are not used: their padding is the same on
// both sides, they return no indices, and they do not define which of several equal maxima gets the
// gradient. Gradients are gathered: one thread per element of dx reads the windows that contain the
// element. So sums have a fixed order and dx need not be zeroed first.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// A computation, passed to the kernel by value. The pointers are set at launch.
struct PoolJob {
  std::uint32_t n = 0, c = 0;
  std::int32_t h = 0, w = 0;  ///< of x and dx
  std::int32_t p = 0, q = 0;  ///< of y, dy and indices
  std::int32_t size[2], stride[2], pad[2];
  bool count_include_pad = true;
  /// The written tensor is NHWC: neighbouring threads process neighbouring channels.
  bool channels_last = false;
  DType index_dtype = DType::kI64;
  std::int64_t x_strides[4] = {}, y_strides[4] = {};  ///< of x or dx, of y or dy
  std::int64_t index_strides[4] = {};
  // The backward pass of max pooling needs both members of both pairs.
  std::int64_t dx_strides[4] = {}, dy_strides[4] = {};
  const float *x = nullptr, *dy = nullptr;
  float *y = nullptr, *dx = nullptr;
  const float* y_in = nullptr;
  void* indices = nullptr;  ///< kMaxPoolForward: written, or null; kMaxPoolBackwardIndices: read
};

/// @param call  a pooling kind
PoolJob PlanPool(const KernelCall& call);

/// Launches the kernel of `kind`, one of the five pooling kinds.
void LaunchPool(KernelKind kind, const PoolJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
