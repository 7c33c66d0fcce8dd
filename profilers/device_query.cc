#include "profilers/device_query.h"

#include "framework/base/error.h"

#ifdef EMPLACE_WITH_CUDA
#include "profilers/cuda/cuda_error.h"
#include "profilers/cuda/device_query.h"
#endif

namespace emplace {

#ifdef EMPLACE_WITH_CUDA

bool HasCuda() {
  return true;
}

std::vector<GpuInfo> QueryGpus() {
  try {
    return cuda::QueryGpus();
  } catch (const cuda::CudaError& error) {
    throw RunError(error.what());
  }
}

#else

bool HasCuda() {
  return false;
}

std::vector<GpuInfo> QueryGpus() {
  return {};
}

#endif

}  // namespace emplace
