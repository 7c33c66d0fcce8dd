#pragma once

#include <string>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// Launches a prepared kernel once on zeros in memory of its own and waits for it. Also loads what
/// the driver loads at a kernel's first launch.
/// @return why it refused, empty if it did not (or there was no memory to try it in)
/// @throws CudaError if the GPU itself failed
std::string TryLaunch(const KernelCall& call, CudaKernel& kernel);

}  // namespace emplace::cuda
