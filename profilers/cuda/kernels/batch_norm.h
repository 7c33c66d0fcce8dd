#pragma once

// Batch norm in training over [n, c, h, w], per c (KernelKind has the formulas). Tensors [n, c, h,
// w] may have any strides; vectors [c] are dense. cuDNN's kernels are not used, because in some of
// them all blocks of a launch wait for each other. In a partition with fewer SMs than cuDNN
// assumes, they never end.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/reduce.h"
#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// The traversal of the tensors [n, c, h, w] of a call.
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

  /// Returns the size of the partial sums and of the coefficients that the first pass computes for
  /// the second [B].
  std::int64_t scratch_bytes() const;
};

/// @param output  y or dx
/// @param inputs  x, or dy and x; all [n, c, h, w]
BatchNormPlan PlanBatchNorm(const TensorView& output, std::span<const TensorView> inputs);

/// Arguments of a forward launch. All are device pointers, named as in KernelKind.
struct BatchNormForward {
  float epsilon = 0;
  float momentum = 0;  ///< weight of the batch's statistics in the running statistics
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

/// Arguments of a backward launch, also device pointers named as in KernelKind.
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
