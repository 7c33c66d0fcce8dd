#pragma once

// Elementwise updates of weights (KernelKind has the formulas). All tensors are row-major without
// holes.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

inline constexpr int kMaxOptimizerInputs = 4, kMaxOptimizerOutputs = 3;

/// A computation, passed to the kernel by value.
struct OptimizerJob {
  KernelKind kind = KernelKind::kGradientDescent;
  float learning_rate = 0, momentum = 0, beta1 = 0, beta2 = 0, one_minus_beta1 = 0,
        one_minus_beta2 = 0, epsilon = 0, weight_decay = 0;
  std::int64_t count = 0;
  const float* in[kMaxOptimizerInputs] = {};  ///< in KernelKind's order
  float* out[kMaxOptimizerOutputs] = {};      ///< may be the inputs
};

/// Returns the parameters and kind of a call. The pointers are set at launch.
OptimizerJob PlanOptimizer(const KernelCall& call);

void LaunchOptimizer(const OptimizerJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
