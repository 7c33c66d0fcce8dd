#pragma once

// The CUDA side of profilers/device_query.h.

#include "profilers/device_query.h"

namespace emplace::cuda {

/// The implementation of emplace::QueryGpus() in the module. Without a driver, GpuList::none names
/// the library that could not be loaded. If the driver is too old, it names the CUDA version that
/// the driver supports.
/// @throws CudaError
GpuList QueryGpus();

}  // namespace emplace::cuda
