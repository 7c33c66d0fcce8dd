#pragma once

// All code of the simulator that uses CUDA (simulator/cuda) is in a separate shared object,
// libemplace_simulator_cuda.so, which is opened at the first use of a GPU. It needs the driver, no
// other library of CUDA, and no function of the program. It reports errors as RunError, whose type
// both sides compile from one header.
//
// Internal to the simulator.

#include <memory>
#include <string>

#include "framework/base/module.h"
#include "simulator/gpu/gpu_device.h"

namespace emplace {

/// The number of GPUs that simulations can use, or the reason why there is none.
struct GpuCount {
  int count = 0;
  std::string none;  ///< "no GPU"; empty if there is one
};

/// The functions of the module.
struct SimulatorGpuModule {
  const char* stamp;  ///< kSimulatorStamp of its build; must stay the first field
  /// @throws RunError if a driver is there and fails
  GpuCount (*count)();
  /// @param gpu  below the count @throws RunError
  std::unique_ptr<GpuDevice> (*open)(int gpu);
};

/// Name of the only function that the module exports, const SimulatorGpuModule*().
inline constexpr const char* kSimulatorGpuModuleEntry = "EmplaceSimulatorGpuModule";

/// The build of this program or module: compiler and flags, and a checksum of all sources under
/// framework/ and simulator/, including uncommitted changes. Hidden, so that each has its own.
[[gnu::visibility("hidden")]] extern const char* const kSimulatorStamp;

/// Returns the module of this program. The first call opens it, from ModulePlaces() of the
/// environment variable EMPLACE_SIMULATOR_CUDA_MODULE. `error` is "built without CUDA" if the
/// program has no module.
const OpenedModule& ThisSimulatorGpuModule();

}  // namespace emplace
