#pragma once

// Modules: shared objects of ours that a program opens when it first needs them, because what they
// are linked to (CUDA, MPI) is large or absent on some machines. A module exports one function,
// which gives a struct of functions. Both sides share C++ types, so a program opens only a module
// with the source stamp of its own build.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace emplace {

/// A module, or why there is none.
struct OpenedModule {
  const void* module = nullptr;  ///< the struct of functions
  std::string error;  ///< "cannot load FILE: what the system said"; empty if there is a module
};

/// Opens the first of `places` that exists. If that one cannot be used, the answer says why, and no
/// other is tried. A module stays open for the life of the process.
/// @param what   it is for, in messages: "CUDA"
/// @param entry  name of its function `const Struct*()`; the first field of the struct is the
///   stamp of its build, a const char*
/// @param stamp  of this program
OpenedModule OpenModule(std::span<const std::filesystem::path> places,
                        const char* what,
                        const char* entry,
                        const char* stamp);

/// Where a program looks for a module: the file that the environment variable names alone, if it is
/// set; else beside the program, in ../lib from there, and in the folder it was built in.
/// @param built  full path that the build gave it; nullptr: built without, so it is nowhere else
std::vector<std::filesystem::path> ModulePlaces(const char* environment, const char* built);

}  // namespace emplace
