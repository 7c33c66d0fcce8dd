#pragma once

#include <string>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// Launches a prepared kernel once, on zeros in temporary memory, and waits for it. The driver
/// loads the kernel's code with this launch.
/// @return the reason of a refusal; empty if the kernel ran, or if there was not enough memory for
///   the trial
/// @throws CudaError if the GPU itself failed
std::string TryLaunch(const KernelCall& call, CudaKernel& kernel);

}  // namespace emplace::cuda
