#pragma once

#include <vector>

#include "profilers/device_query.h"

namespace emplace::cuda {

/// As emplace::QueryGpus. @throws CudaError
std::vector<GpuInfo> QueryGpus();

}  // namespace emplace::cuda
