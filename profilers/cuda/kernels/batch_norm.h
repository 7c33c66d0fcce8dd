#pragma once

// Batch norm in training over [n, c, h, w], per c; the big tensors have any strides, the [c]
// vectors none. Own kernels rather than cuDNN's: those may wait for all blocks of a launch at once,
// which deadlocks where a partition holds fewer SMs than cuDNN counts.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/reduce.h"
#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// Views of all big tensors of a call, how they are walked.
struct BatchNormPlan {
  std::int64_t channels = 0, count = 0;  ///< count = n h w
  // Sums over n, h, w of up to two tensors.
  ReduceShape sums;
  std::int64_t channel_strides[2] = {};
  Strided<2> reduced{};
  // All elements; operands: written tensor, the tensors that are summed, the channel number.
  Strided<4> all{};
  int per_thread = 1;

  /// Partial sums and the coefficients between the two passes.
  std::int64_t scratch_bytes() const;
};

/// @param output  y or dx    @param inputs  x, or dy and x; all [n, c, h, w]
BatchNormPlan PlanBatchNorm(const TensorView& output, std::span<const TensorView> inputs);

struct BatchNormForward {
  float epsilon = 0;
  float momentum = 0;  ///< weight of the batch's statistics in the running ones
  bool saves_inverse_std = false;
  const float *x = nullptr, *scale = nullptr, *offset = nullptr;
  const float *running_mean_in = nullptr, *running_variance_in = nullptr;  ///< null: none
  float *y = nullptr, *mean = nullptr, *second = nullptr;
  float *running_mean = nullptr, *running_variance = nullptr;  ///< null: none
  void* scratch = nullptr;
};
void LaunchBatchNormForward(const BatchNormPlan& plan,
                            const BatchNormForward& job,
                            cudaStream_t stream);

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
