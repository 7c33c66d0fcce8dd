#pragma once

// From device names ("cpu:0", "gpu:0/4") to devices, checked against what a machine has. Asks no
// hardware, so that tests can invent machines.

#include <span>
#include <string>
#include <vector>

#include "profilers/device_query.h"
#include "profilers/device_spec.h"

namespace emplace {

/// What a machine offers.
struct MachineParts {
  std::vector<int> cores;  ///< that this process may use, ascending
  std::vector<GpuInfo> gpus;
  std::string no_gpu = "no GPU";  ///< why there is none, for messages; empty if nobody asked
};

/// Sizes that partitions of a GPU may have, in streaming multiprocessors (SMs): multiples of
/// `multiple`, at least `minimum`.
struct SmGranule {
  int minimum = 0, multiple = 0;
};
/// The granule by compute capability, as CUDA's documentation of green contexts gives it.
SmGranule SmGranuleOf(const GpuInfo& gpu);

/// Devices for names of the forms in machine.h, in the same order; a name with partitions becomes
/// several devices. Cores are divided evenly among the CPU devices, in blocks of neighbours. A
/// remainder stays free, and beside GPUs so does the last core, for the thread that issues their
/// commands.
/// @throws InputError naming the device, what was expected and what this machine has
std::vector<DeviceSpec> ParseDevices(std::span<const std::string> names,
                                     const MachineParts& machine);

/// Whether it has to be known which GPUs there are: a name is not "cpu:...", or there is no name
/// (then messages list what the machine has).
bool MayNeedGpus(std::span<const std::string> names);

/// The names of DefaultDevices() (machine.h).
std::vector<std::string> DefaultDevicesOf(const MachineParts& machine);

}  // namespace emplace
