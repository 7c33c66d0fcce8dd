#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/device_query.h"
#include "profilers/cuda/handles.h"

namespace emplace::cuda {

std::vector<GpuInfo> QueryGpus() {
  PrepareEnvironment();
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaErrorNoDevice || found == cudaErrorInsufficientDriver) return {};
  EMPLACE_CUDA_CHECK(cudaGetDeviceCount(&count));

  int driver = 0;
  EMPLACE_CUDA_CHECK(cudaDriverGetVersion(&driver));
  std::vector<GpuInfo> gpus;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    EMPLACE_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
    GpuInfo gpu;
    gpu.name = properties.name;
    gpu.compute_major = properties.major;
    gpu.compute_minor = properties.minor;
    gpu.sm_count = properties.multiProcessorCount;
    gpu.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    gpu.driver = std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace emplace::cuda
