#pragma once

#include <memory>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// Prepares a call of any kind but matmul and convolution: what our own kernels do.
/// @throws RunError naming the call
std::unique_ptr<CudaKernel> PrepareOwnKernel(const KernelCall& call);

}  // namespace emplace::cuda
