#include "profilers/cuda/nvml.h"

#include <dlfcn.h>

namespace emplace::cuda {

namespace {

// The used part of NVML's stable C interface. Its header is not part of the basic toolkit.
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlClockSm = 1;
constexpr int kNvmlTemperatureGpu = 0;

struct Nvml {
  int (*init)() = nullptr;
  int (*device_by_bus)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  bool is_ready = false;
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// Returns the library, which stays loaded until the process ends.
const Nvml& Library() {
  static const Nvml nvml = [] {
    Nvml found;
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return found;
    found.is_ready = Find(library, "nvmlInit_v2", found.init) &&
                     Find(library, "nvmlDeviceGetHandleByPciBusId_v2", found.device_by_bus) &&
                     Find(library, "nvmlDeviceGetClockInfo", found.clock) &&
                     Find(library, "nvmlDeviceGetTemperature", found.temperature) &&
                     Find(library, "nvmlSystemGetDriverVersion", found.driver_version) &&
                     found.init() == kNvmlSuccess;
    return found;
  }();
  return nvml;
}

}  // namespace

GpuClocks ReadGpuClocks(const std::string& pci_bus_id) {
  GpuClocks clocks;
  const Nvml& nvml = Library();
  NvmlDevice device = nullptr;
  if (!nvml.is_ready || nvml.device_by_bus(pci_bus_id.c_str(), &device) != kNvmlSuccess) {
    return clocks;
  }
  unsigned value = 0;
  if (nvml.clock(device, kNvmlClockSm, &value) == kNvmlSuccess) clocks.sm_mhz = value;
  if (nvml.temperature(device, kNvmlTemperatureGpu, &value) == kNvmlSuccess) {
    clocks.temperature = value;
  }
  return clocks;
}

std::string DriverVersion() {
  char version[96] = "";
  const Nvml& nvml = Library();
  if (!nvml.is_ready || nvml.driver_version(version, sizeof(version)) != kNvmlSuccess) return "";
  return version;
}

}  // namespace emplace::cuda
