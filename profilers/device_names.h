#pragma once

// What device names ask for, checked against what a machine has. Plain host code.

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
  std::string no_gpu = "no GPU";  ///< why there is none; empty if nobody asked
};

/// Sizes that partitions of a GPU may have: multiples of `multiple`, at least `minimum` SMs.
struct SmGranule {
  int minimum = 0, multiple = 0;
};
/// By compute capability, as CUDA documents it for green contexts.
SmGranule SmGranuleOf(const GpuInfo& gpu);

/// Names as machine.h lists them -> devices in the same order, a name with partitions becoming
/// several. Cores are divided evenly among the CPU devices, in blocks of neighbours; a remainder
/// stays free, and beside GPUs the last core is kept for the thread that issues their commands.
/// @throws InputError naming the device, what was expected and what this machine has
std::vector<DeviceSpec> ParseDevices(std::span<const std::string> names,
                                     const MachineParts& machine);

/// True if a name may mean a GPU: all but "cpu:...", and no name at all.
bool MayNeedGpus(std::span<const std::string> names);

/// Every GPU and a CPU device; without GPU two CPU devices (one on a single core).
std::vector<std::string> DefaultDevicesOf(const MachineParts& machine);

}  // namespace emplace
