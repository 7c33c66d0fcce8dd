#include "profilers/machine.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "profilers/cpu/cpu_backend.h"
#include "profilers/device_names.h"
#include "profilers/device_query.h"
#include "profilers/gpu_module.h"

namespace emplace {

namespace {

MachineParts PartsWithGpus() {
  GpuList found = QueryGpus();
  return {AllowedCores(), std::move(found.gpus), std::move(found.none)};
}

}  // namespace

std::shared_ptr<Backend> OpenMachine(const std::vector<std::string>& names) {
  const MachineParts machine =
      MayNeedGpus(names) ? PartsWithGpus() : MachineParts{AllowedCores(), {}, ""};
  const std::vector<DeviceSpec> devices = ParseDevices(names, machine);
  std::vector<CpuGroup> groups;
  for (const DeviceSpec& device : devices) {
    const auto* group = std::get_if<CpuGroup>(&device);
    if (group == nullptr) return ThisGpuModule().module->open(devices);
    groups.push_back(*group);
  }
  return MakeCpuBackend(std::move(groups));
}

std::vector<std::string> DefaultDevices() {
  const MachineParts machine = PartsWithGpus();
  if (HasCuda() && ThisGpuModule().module == nullptr) {
    const std::vector<std::string> gpus = ReadDriverFiles().gpus;
    if (!gpus.empty()) {
      throw InputError(
          fmt::format("this machine has a GPU ({}) that this program cannot use: {}; to leave it "
                      "out, name the devices, such as cpu:0",
                      fmt::join(gpus, ", "),
                      ThisGpuModule().error));
    }
  }
  return DefaultDevicesOf(machine);
}

}  // namespace emplace
