#pragma once

// What comes from no input: constants and random numbers; dropout.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// Writes `value` to every element of a view.
struct FillJob {
  DType dtype = DType::kF32;
  double value = 0;
  Strided<1> dims{};
  void* output = nullptr;
};
FillJob PlanFill(double value, const TensorView& output);
void LaunchFill(const FillJob& job, cudaStream_t stream);

/// out[i] = uniform in [0, 1), a function of i alone.
void LaunchRandomUniform(float* out, std::int64_t count, cudaStream_t stream);

/// mask[i] = uniform(i) >= probability of a zero; y = mask ? x / (1 - probability) : 0. `mask` may
/// be null.
void LaunchDropoutForward(const float* x,
                          float* y,
                          std::uint8_t* mask,
                          double probability,
                          std::int64_t count,
                          cudaStream_t stream);

/// dx = dy * mask * scale.
void LaunchDropoutBackward(const float* dy,
                           const std::uint8_t* mask,
                           float* dx,
                           double scale,
                           std::int64_t count,
                           cudaStream_t stream);

}  // namespace emplace::cuda
