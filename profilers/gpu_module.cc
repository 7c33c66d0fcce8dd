#include "profilers/gpu_module.h"

#include <cstdlib>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profilers/source_stamp.h"

namespace emplace {

namespace {

#ifdef EMPLACE_CUDA_MODULE
constexpr const char* kBuiltModule = EMPLACE_CUDA_MODULE;  // its full path
#else
constexpr const char* kBuiltModule = nullptr;
#endif

/// What the last call of the dynamic linker complained about.
std::string LinkerError() {
  const char* const text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

}  // namespace

GpuModuleResult LoadGpuModule(std::span<const std::filesystem::path> places) {
  for (const std::filesystem::path& path : places) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return {nullptr, fmt::format("cannot load {}: {}", path.string(), LinkerError())};
    }
    const auto entry = reinterpret_cast<GpuModuleEntry*>(dlsym(library, kGpuModuleEntry));
    if (entry == nullptr) {
      return {nullptr,
              fmt::format("{} is no CUDA module of emplace: {}", path.string(), LinkerError())};
    }
    const GpuModule* const module = entry();
    if (std::string_view(module->stamp) != kSourceStamp) {
      return {nullptr,
              fmt::format("{} belongs to another build of emplace: made from {}; this program from "
                          "{}",
                          path.string(),
                          module->stamp,
                          kSourceStamp)};
    }
    return {module, ""};
  }
  std::vector<std::string> names;
  for (const std::filesystem::path& path : places) names.push_back(path.string());
  return {nullptr,
          fmt::format("cannot load the CUDA module: there is no {}", fmt::join(names, ", no "))};
}

std::vector<std::filesystem::path> GpuModulePlaces() {
  const char* const chosen = std::getenv("EMPLACE_CUDA_MODULE");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  if (kBuiltModule == nullptr) return {};
  const std::filesystem::path built = kBuiltModule;
  std::vector<std::filesystem::path> places;
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) {
    const std::filesystem::path folder = program.parent_path();
    places = {folder / built.filename(), folder.parent_path() / "lib" / built.filename()};
  }
  if (places.empty() || places.front() != built) places.push_back(built);
  return places;
}

const GpuModuleResult& ThisGpuModule() {
  static const GpuModuleResult result = kBuiltModule == nullptr
                                            ? GpuModuleResult{nullptr, "built without CUDA"}
                                            : LoadGpuModule(GpuModulePlaces());
  return result;
}

}  // namespace emplace
