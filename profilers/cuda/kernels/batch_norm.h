#pragma once

// Batch norm in training over [n, c, h, w], per c (KernelKind has the formulas). Tensors [n, c, h,
// w] have any strides; vectors [c] are dense. Not cuDNN's kernels, because these may let all blocks
// of a launch wait for each other, which never ends in a partition that has fewer SMs than cuDNN
// counts.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/reduce.h"
#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// How the tensors [n, c, h, w] of a call are walked.
struct BatchNormPlan {
  std::int64_t channels = 0, count = 0;  ///< count = n h w
  // First pass: sums over n, h, w of up to two tensors.
  ReduceShape sums;
  std::int64_t channel_strides[2] = {};
  Strided<2> reduced{};
  // Second pass, over all elements. Operands: the tensor that is written, the two that are read,
  // and the channel's number.
  Strided<4> all{};
  int per_thread = 1;

  /// For partial sums and what the first pass leaves for the second [B].
  std::int64_t scratch_bytes() const;
};

/// @param output  y or dx    @param inputs  x, or dy and x; all [n, c, h, w]
BatchNormPlan PlanBatchNorm(const TensorView& output, std::span<const TensorView> inputs);

/// Arguments of a launch; all are device pointers, by name as in KernelKind.
struct BatchNormForward {
  float epsilon = 0;
  float momentum = 0;  ///< weight of the batch's statistics in the running ones
  bool saves_inverse_std = false;
  const float *x = nullptr, *scale = nullptr, *offset = nullptr;
  const float *running_mean_in = nullptr, *running_variance_in = nullptr;  ///< null: none
  float *y = nullptr, *mean = nullptr, *second = nullptr;
  float *running_mean = nullptr, *running_variance = nullptr;  ///< null: none
  void* scratch = nullptr;                                     ///< BatchNormPlan::scratch_bytes()
};
void LaunchBatchNormForward(const BatchNormPlan& plan,
                            const BatchNormForward& job,
                            cudaStream_t stream);

/// Likewise.
struct BatchNormBackward {
  float epsilon = 0;
  bool saves_inverse_std = false;
  const float *dy = nullptr, *x = nullptr, *scale = nullptr, *mean = nullptr, *second = nullptr;
  float *dx = nullptr, *dscale = nullptr, *doffset = nullptr;
  void* scratch = nullptr;
};
void LaunchBatchNormBackward(const BatchNormPlan& plan,
                             const BatchNormBackward& job,
                             cudaStream_t stream);

}  // namespace emplace::cuda
