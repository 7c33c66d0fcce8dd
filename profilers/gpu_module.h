#pragma once

// All code that uses CUDA is in its own shared object (libemplace_cuda.so), the module. A program
// opens it when a GPU is first requested. CUDA's libraries take hundreds of megabytes and most of a
// program's start-up time, and a machine without them can do everything else.
//
// The module is not linked to emplace's libraries. It takes the symbols that it needs (errors,
// plans, the CPU backend) from the program that opens it. So there is one copy of everything,
// including exception types, and only the module has to be compiled as relocatable code. The build
// reads the list of needed names from the finished module. Every program that links
// emplace_profilers exports exactly these names; if one is missing, the program does not link
// (profilers/CMakeLists.txt).
//
// Both sides share C++ types, so a program opens only a module with the same source stamp
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

/// The functions that the module provides.
struct GpuModule {
  const char* stamp;  ///< kSourceStamp of its build; must stay the first field
  /// As QueryGpus(). @throws RunError if a driver is there and fails
  GpuList (*query)();
  /// As cuda::MakeCudaBackend(). @throws InputError, RunError
  std::shared_ptr<Backend> (*open)(const std::vector<DeviceSpec>& devices);
};

/// Name of the one function that the module exports, const GpuModule*().
inline constexpr const char* kGpuModuleEntry = "EmplaceGpuModule";

/// A module, or the reason why there is none.
struct GpuModuleResult {
  const GpuModule* module = nullptr;
  std::string error;  ///< "cannot load FILE: system's message"; empty if there is a module
};

/// As OpenModule() (framework/base/module.h).
GpuModuleResult LoadGpuModule(std::span<const std::filesystem::path> places);

/// As ModulePlaces(); the environment variable is EMPLACE_CUDA_MODULE.
std::vector<std::filesystem::path> GpuModulePlaces();

/// Returns the module of this program and opens it at the first call. `error` is "built without
/// CUDA" if the program has none.
const GpuModuleResult& ThisGpuModule();

}  // namespace emplace
