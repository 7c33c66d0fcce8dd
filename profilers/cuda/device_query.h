#pragma once

#include "profilers/device_query.h"

namespace emplace::cuda {

/// As emplace::QueryGpus, which calls it in the module. Without a driver `none` says what could not
/// be loaded, and with one that is too old which CUDA it knows.
/// @throws CudaError
GpuList QueryGpus();

}  // namespace emplace::cuda
