#include "framework/results/hdf5_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace::internal {

namespace {

/// The library by its name, found where the system and this program look for libraries; then by its
/// path on the machine where this was built.
constexpr const char* kHdf5Names[] = {EMPLACE_HDF5_NAME, EMPLACE_HDF5_FILE};

std::string TakeLinkerError() {
  const char* const text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

}  // namespace

void* LoadHdf5(std::span<const char* const> names) {
  std::string error;
  for (const char* name : names) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    const std::string reason = TakeLinkerError();
    if (error.empty()) error = reason;
  }
  throw RunError("cannot load HDF5, which results are kept in: " + error);
}

bool CanLoadHdf5() noexcept {
  try {
    return FindInHdf5("H5open") != nullptr;
  } catch (const RunError&) {
    return false;
  }
}

void* FindInHdf5(const char* name) {
  static void* const library = LoadHdf5(kHdf5Names);
  // A program that is linked to HDF5, too, may hold the library's variables in its own memory.
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) found = dlsym(library, name);
  if (found == nullptr) throw RunError("HDF5 is of another version: " + TakeLinkerError());
  return found;
}

}  // namespace emplace::internal
