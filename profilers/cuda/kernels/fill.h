#pragma once

// Constants, random numbers and dropout.

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
/// @throws RunError if the view exceeds Strided's limits
FillJob PlanFill(double value, const TensorView& output);
void LaunchFill(const FillJob& job, cudaStream_t stream);

/// Computes out[i] = uniform(i), in [0, 1). It is a function of i alone, so it is the same in every
/// launch.
void LaunchRandomUniform(float* out, std::int64_t count, cudaStream_t stream);

/// Computes mask[i] = uniform(i) >= probability; y = mask ? x / (1 - probability) : 0.
/// @param mask         may be null
/// @param probability  of a zero
void LaunchDropoutForward(const float* x,
                          float* y,
                          std::uint8_t* mask,
                          double probability,
                          std::int64_t count,
                          cudaStream_t stream);

/// Computes dx = dy * mask * scale.
void LaunchDropoutBackward(const float* dy,
                           const std::uint8_t* mask,
                           float* dx,
                           double scale,
                           std::int64_t count,
                           cudaStream_t stream);

}  // namespace emplace::cuda
