// The one function that the module exports. profilers/gpu_module.h describes its use.

#include "framework/base/error.h"
#include "profilers/cuda/cuda_backend.h"
#include "profilers/cuda/cuda_error.h"
#include "profilers/cuda/device_query.h"
#include "profilers/gpu_module.h"
#include "profilers/source_stamp.h"

namespace emplace {

namespace {

// CudaError is a type of the module alone, so errors leave the module as RunErrors.
GpuList QueryGpusInModule() {
  try {
    return cuda::QueryGpus();
  } catch (const cuda::CudaError& error) {
    throw RunError(error.what());
  }
}

std::shared_ptr<Backend> OpenInModule(const std::vector<DeviceSpec>& devices) {
  return cuda::MakeCudaBackend(devices);
}

}  // namespace

}  // namespace emplace

extern "C" const emplace::GpuModule* EmplaceGpuModule() {
  static const emplace::GpuModule module = {
      emplace::kSourceStamp, &emplace::QueryGpusInModule, &emplace::OpenInModule};
  return &module;
}
