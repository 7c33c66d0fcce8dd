#pragma once

// Modules are shared objects of ours that a program opens when it first needs them, because the
// libraries they link to (CUDA, MPI) are large or absent on some machines. A module exports one
// function that returns a struct of functions. Both sides share C++ types, so a program opens only
// a module with the source stamp of its own build.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace emplace {

/// An open module, or the reason why it could not be opened.
struct OpenedModule {
  const void* module = nullptr;  ///< the struct of functions
  std::string error;             ///< "cannot load FILE: REASON"; empty if there is a module
};

/// Opens the first of `places` that exists. If it cannot be used, returns the reason and tries no
/// other place. A module stays open until the process ends.
/// @param what   purpose of the module, in messages: "CUDA"
/// @param entry  name of its function `const Struct*()`. The first field of the struct is the stamp
///   (a const char*) of its build.
/// @param stamp  of this program
OpenedModule OpenModule(std::span<const std::filesystem::path> places,
                        const char* what,
                        const char* entry,
                        const char* stamp);

/// Returns the places to search for a module. If the environment variable is set, this is the file
/// that it names. Otherwise: the folder of the program, ../lib from there, and the path `built`.
/// @param built  full path that the build gave the module; nullptr if the program was built without
///   it, then there are no other places
std::vector<std::filesystem::path> ModulePlaces(const char* environment, const char* built);

}  // namespace emplace
