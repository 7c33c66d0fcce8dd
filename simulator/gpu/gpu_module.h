#pragma once

// All code of the simulator that uses CUDA (simulator/cuda) is in a shared object of its own,
// libemplace_simulator_cuda.so, which is opened when a GPU is first asked for. It needs the driver
// and nothing else of CUDA's libraries, and none of our functions: it says errors as RunError,
// whose type both sides compile from one header.
//
// Internal to the simulator.

#include <memory>
#include <string>

#include "framework/base/module.h"
#include "simulator/gpu/gpu_device.h"

namespace emplace {

/// How many GPUs simulations can use, or why none.
struct GpuCount {
  int count = 0;
  std::string none;  ///< "no GPU"; empty if there is one
};

/// The functions that the module offers.
struct SimulatorGpuModule {
  const char* stamp;  ///< kSimulatorStamp of its build; stays the first field
  /// @throws RunError if a driver is there and fails
  GpuCount (*count)();
  /// @param gpu  below the count @throws RunError
  std::unique_ptr<GpuDevice> (*open)(int gpu);
};

/// Name of the one function that the module exports, const SimulatorGpuModule*().
inline constexpr const char* kSimulatorGpuModuleEntry = "EmplaceSimulatorGpuModule";

/// What this program or module was built from: compiler and flags, and a checksum of all sources
/// under framework/ and simulator/, uncommitted changes included. Hidden: each has its own.
[[gnu::visibility("hidden")]] extern const char* const kSimulatorStamp;

/// The module of this program, opened at the first call, from ModulePlaces() of the environment
/// variable EMPLACE_SIMULATOR_CUDA_MODULE. `error` is "built without CUDA" if it has none.
const OpenedModule& ThisSimulatorGpuModule();

}  // namespace emplace
