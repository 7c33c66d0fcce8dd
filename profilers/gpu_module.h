#pragma once

// All code that uses CUDA is in a shared object of its own (libemplace_cuda.so), the module. It is
// opened when a GPU is first asked for: CUDA's libraries take hundreds of megabytes and most of the
// time that the program needs to start, and a machine without them can do everything else.
//
// The module is not linked to emplace's libraries. What it calls of them (errors, plans, the CPU
// backend) it takes from the program that opens it. So there is one copy of everything, types of
// exceptions included, and only the module has to be compiled as relocatable code. The build reads
// from the finished module which names it needs, and every program that links emplace_profilers
// exports exactly these; if one is missing, the program does not link (profilers/CMakeLists.txt).
//
// Both sides share C++ types, so a program opens only a module with its own source stamp
// (source_stamp.h).

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profilers/device_query.h"
#include "profilers/device_spec.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// The functions that the module offers.
struct GpuModule {
  const char* stamp;  ///< kSourceStamp of its build; stays the first field
  /// As QueryGpus(). @throws RunError if a driver is there and fails
  GpuList (*query)();
  /// As cuda::MakeCudaBackend(). @throws InputError, RunError
  std::shared_ptr<Backend> (*open)(const std::vector<DeviceSpec>& devices);
};

/// Name of the one function that the module exports, const GpuModule*().
inline constexpr const char* kGpuModuleEntry = "EmplaceGpuModule";

/// A module, or why there is none.
struct GpuModuleResult {
  const GpuModule* module = nullptr;
  std::string error;  ///< "cannot load FILE: what the system said"; empty if there is a module
};

/// As OpenModule() (framework/base/module.h).
GpuModuleResult LoadGpuModule(std::span<const std::filesystem::path> places);

/// As ModulePlaces(); the environment variable is EMPLACE_CUDA_MODULE.
std::vector<std::filesystem::path> GpuModulePlaces();

/// The module of this program, opened at the first call. `error` is "built without CUDA" if it has
/// none.
const GpuModuleResult& ThisGpuModule();

}  // namespace emplace
