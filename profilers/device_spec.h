#pragma once

// A device that someone asked for, before it is opened.

#include <string>
#include <variant>

#include "profilers/cpu/cpu_backend.h"

namespace emplace {

/// A whole GPU, or a partition of one.
struct GpuDeviceSpec {
  std::string name;  ///< "gpu:0", "gpu:0.2"
  int gpu = 0;       ///< CUDA's ordinal
  int sm_count = 0;  ///< of the partition; 0: the whole GPU
};
using DeviceSpec = std::variant<CpuGroup, GpuDeviceSpec>;

}  // namespace emplace
