#pragma once

// The part of this program that knows CUDA, in a shared object of its own (libemplace_cuda.so). It
// is opened when a GPU is first asked for: its libraries take hundreds of megabytes and most of a
// start's time, and a machine without them runs everything else.
//
// The module is not linked to emplace's libraries. It takes what it calls of them (errors, plans,
// the CPU backend) from the program that opens it, so that there is one copy of everything, types
// of exceptions included, and nothing else has to be compiled to be relocatable. The build asks the
// finished module what it needs, and every program that links emplace_profilers exports exactly
// that; a name that is missing is an error of the program's link (profilers/CMakeLists.txt).
//
// Both sides share C++ types, so a module opens only in a program with the same source stamp.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profilers/device_query.h"
#include "profilers/device_spec.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// What the module offers.
struct GpuModule {
  const char* stamp;  ///< kSourceStamp of its build; stays the first field
  /// As QueryGpus(). @throws RunError if a driver is there and fails
  GpuList (*query)();
  /// As cuda::MakeCudaBackend(). @throws InputError, RunError
  std::shared_ptr<Backend> (*open)(const std::vector<DeviceSpec>& devices);
};

/// The module's one exported function.
inline constexpr const char* kGpuModuleEntry = "EmplaceGpuModule";
using GpuModuleEntry = const GpuModule*();

/// A module, or why there is none.
struct GpuModuleResult {
  const GpuModule* module = nullptr;
  std::string error;  ///< "cannot load FILE: what the system said"; empty if there is a module
};

/// Opens the first of `places` that exists; what is wrong with that one is the answer. It stays
/// open for the life of the process.
GpuModuleResult LoadGpuModule(std::span<const std::filesystem::path> places);

/// Where this program looks: $EMPLACE_CUDA_MODULE alone, if that is set; else beside the program,
/// in
/// ../lib from there, and in the folder it was built in.
std::vector<std::filesystem::path> GpuModulePlaces();

/// The module of this program, opened at the first call. `error` says so if the program was built
/// without CUDA.
const GpuModuleResult& ThisGpuModule();

}  // namespace emplace
