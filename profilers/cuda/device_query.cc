#include "profilers/cuda/device_query.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/handles.h"

namespace emplace::cuda {

namespace {

std::string CudaVersionName(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

GpuList QueryGpus() {
  PrepareEnvironment();
  // CUDA's runtime would only report an insufficient driver.
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* const error = dlerror();
    return {{},
            fmt::format("no GPU that this program can use (cannot load the driver: {})",
                        error == nullptr ? "unknown reason" : error)};
  }
  int count = 0, driver = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  EMPLACE_CUDA_CHECK(cudaDriverGetVersion(&driver));
  if (found == cudaErrorInsufficientDriver) {
    return {{},
            fmt::format("no GPU that this program can use (the driver supports CUDA {}, but this "
                        "program needs {})",
                        CudaVersionName(driver),
                        CudaVersionName(CUDART_VERSION))};
  }
  if (found == cudaErrorNoDevice) return {{}, "no GPU"};
  EMPLACE_CUDA_CHECK(cudaGetDeviceCount(&count));

  GpuList list;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    EMPLACE_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
    GpuInfo gpu;
    gpu.name = properties.name;
    gpu.compute_major = properties.major;
    gpu.compute_minor = properties.minor;
    gpu.sm_count = properties.multiProcessorCount;
    gpu.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    gpu.driver = CudaVersionName(driver);
    list.gpus.push_back(gpu);
  }
  if (list.gpus.empty()) list.none = "no GPU";
  return list;
}

}  // namespace emplace::cuda
