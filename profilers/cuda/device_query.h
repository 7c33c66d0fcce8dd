#pragma once

// The CUDA side of profilers/device_query.h.

#include "profilers/device_query.h"

namespace emplace::cuda {

/// What emplace::QueryGpus() calls in the module. Without a driver, GpuList::none says what could
/// not be loaded; with one that is too old, which CUDA version it supports.
/// @throws CudaError
GpuList QueryGpus();

}  // namespace emplace::cuda
