#pragma once

#include <memory>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// Prepares a call of any kind but matmul and convolution, which are the libraries'
/// (library_kernels.h), and composed kernels (Composition in kernel_table.h). @throws RunError
/// naming the call and why it cannot be done
std::unique_ptr<CudaKernel> PrepareOwnKernel(const KernelCall& call);

}  // namespace emplace::cuda
