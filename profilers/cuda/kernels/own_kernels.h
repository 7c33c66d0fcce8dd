#pragma once

#include <memory>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// Prepares a call of any kind except matmul and convolution, which use libraries
/// (library_kernels.h), and composed kernels (Composition in kernel_table.h).
/// @throws RunError naming the call and the reason if it is not supported
std::unique_ptr<CudaKernel> PrepareOwnKernel(const KernelCall& call);

}  // namespace emplace::cuda
