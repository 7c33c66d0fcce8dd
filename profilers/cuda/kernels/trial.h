#pragma once

#include <string>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// Launches a prepared kernel once, on zeros in memory taken for the trial, and waits for it. The
/// driver loads the kernel's code with this launch.
/// @return why the kernel refused; empty if it ran, or if there was no memory to try it in
/// @throws CudaError if the GPU itself failed
std::string TryLaunch(const KernelCall& call, CudaKernel& kernel);

}  // namespace emplace::cuda
