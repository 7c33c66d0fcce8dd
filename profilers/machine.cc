#include "profilers/machine.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "profilers/cpu/cpu_backend.h"
#include "profilers/cuda/cuda_backend.h"
#include "profilers/device_names.h"
#include "profilers/device_query.h"

namespace emplace {

namespace {

MachineParts QueryMachine() {
  return {AllowedCores(), QueryGpus(), HasCuda()};
}

}  // namespace

std::shared_ptr<Backend> OpenMachine(const std::vector<std::string>& names) {
  const std::vector<cuda::DeviceSpec> devices = ParseDevices(names, QueryMachine());
#ifdef EMPLACE_WITH_CUDA
  for (const cuda::DeviceSpec& device : devices) {
    if (std::holds_alternative<cuda::GpuDeviceSpec>(device)) return cuda::MakeCudaBackend(devices);
  }
#endif
  std::vector<CpuGroup> groups;
  for (const cuda::DeviceSpec& device : devices) groups.push_back(std::get<CpuGroup>(device));
  return MakeCpuBackend(std::move(groups));
}

std::vector<std::string> DefaultDevices() {
  return DefaultDevicesOf(QueryMachine());
}

}  // namespace emplace
