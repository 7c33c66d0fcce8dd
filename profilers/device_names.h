#pragma once

// Converts device names ("cpu:0", "gpu:0/4") to devices and checks them against a description of
// the machine. Does not access hardware, so that tests can use invented machines.

#include <span>
#include <string>
#include <vector>

#include "profilers/device_query.h"
#include "profilers/device_spec.h"

namespace emplace {

/// The cores and GPUs of a machine.
struct MachineParts {
  std::vector<int> cores;  ///< usable by this process, ascending
  std::vector<GpuInfo> gpus;
  std::string no_gpu = "no GPU";  ///< reason for messages if there is none; empty if nobody asked
};

/// Permitted sizes of GPU partitions, in streaming multiprocessors (SMs): multiples of `multiple`,
/// at least `minimum`.
struct SmGranule {
  int minimum = 0, multiple = 0;
};
/// Returns the granule by compute capability, from CUDA's documentation of green contexts.
SmGranule SmGranuleOf(const GpuInfo& gpu);

/// Returns the devices for names of the forms in machine.h, in the same order. A name with
/// partitions becomes several devices. Cores are divided evenly among the CPU devices, in blocks of
/// neighbours. A remainder stays free. If there are GPUs, the last core stays free for the thread
/// that issues their commands.
/// @throws InputError naming the device, the expected form and the devices of this machine
std::vector<DeviceSpec> ParseDevices(std::span<const std::string> names,
                                     const MachineParts& machine);

/// Returns whether the list of GPUs is needed: if a name is not "cpu:...", or if there is no name
/// (messages then list the machine's devices).
bool MayNeedGpus(std::span<const std::string> names);

/// Returns the names of DefaultDevices() (machine.h).
std::vector<std::string> DefaultDevicesOf(const MachineParts& machine);

}  // namespace emplace
