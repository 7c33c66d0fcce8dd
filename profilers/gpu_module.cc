#include "profilers/gpu_module.h"

#include "framework/base/module.h"
#include "profilers/source_stamp.h"

namespace emplace {

namespace {

#ifdef EMPLACE_CUDA_MODULE
constexpr const char* kBuiltModule = EMPLACE_CUDA_MODULE;  // its full path
#else
constexpr const char* kBuiltModule = nullptr;
#endif

}  // namespace

GpuModuleResult LoadGpuModule(std::span<const std::filesystem::path> places) {
  const OpenedModule opened = OpenModule(places, "CUDA", kGpuModuleEntry, kSourceStamp);
  return {static_cast<const GpuModule*>(opened.module), opened.error};
}

std::vector<std::filesystem::path> GpuModulePlaces() {
  return ModulePlaces("EMPLACE_CUDA_MODULE", kBuiltModule);
}

const GpuModuleResult& ThisGpuModule() {
  static const GpuModuleResult result = kBuiltModule == nullptr
                                            ? GpuModuleResult{nullptr, "built without CUDA"}
                                            : LoadGpuModule(GpuModulePlaces());
  return result;
}

}  // namespace emplace
