#pragma once

// The device that a name refers to, before it is opened (made by device_names.h). This is plain
// C++: names are read, and CPU devices opened, without any part of CUDA.

#include <string>
#include <variant>

#include "profilers/cpu/cpu_backend.h"

namespace emplace {

/// A whole GPU, or a partition of one.
struct GpuDeviceSpec {
  std::string name;  ///< "gpu:0", "gpu:0.2"
  int gpu = 0;       ///< number of the GPU, in the order of QueryGpus()
  int sm_count = 0;  ///< streaming multiprocessors of the partition; 0: the whole GPU
};
/// A group of cores, or a GPU device.
using DeviceSpec = std::variant<CpuGroup, GpuDeviceSpec>;

}  // namespace emplace
