#include "framework/base/module.h"

#include <cstdlib>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace {
namespace {

/// Returns the last error of the dynamic linker.
std::string LinkerError() {
  const char* const text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

}  // namespace

OpenedModule OpenModule(std::span<const std::filesystem::path> places,
                        const char* what,
                        const char* entry,
                        const char* stamp) {
  for (const std::filesystem::path& path : places) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return {nullptr, fmt::format("cannot load {}: {}", path.string(), LinkerError())};
    }
    const auto function = reinterpret_cast<const void* (*)()>(dlsym(library, entry));
    if (function == nullptr) {
      return {
          nullptr,
          fmt::format("{} is not a {} module of emplace: {}", path.string(), what, LinkerError())};
    }
    const void* const module = function();
    const char* const its_stamp = *static_cast<const char* const*>(module);
    if (std::string_view(its_stamp) != stamp) {
      return {
          nullptr,
          fmt::format(
              "{} belongs to another build of emplace, made from {}; this program was made from {}",
              path.string(),
              its_stamp,
              stamp)};
    }
    return {module, ""};
  }
  std::vector<std::string> names;
  for (const std::filesystem::path& path : places) names.push_back(path.string());
  return {nullptr,
          fmt::format("cannot load the {} module: found no {}", what, fmt::join(names, ", no "))};
}

std::vector<std::filesystem::path> ModulePlaces(const char* environment, const char* built) {
  const char* const chosen = std::getenv(environment);
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  if (built == nullptr) return {};
  const std::filesystem::path built_path = built;
  std::vector<std::filesystem::path> places;
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) {
    const std::filesystem::path folder = program.parent_path(), name = built_path.filename();
    places = {folder / name, folder.parent_path() / "lib" / name};
  }
  if (places.empty() || places.front() != built_path) places.push_back(built_path);
  return places;
}

}  // namespace emplace
