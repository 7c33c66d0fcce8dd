#include "simulator/gpu/gpu_module.h"

namespace emplace {
namespace {

#ifdef EMPLACE_SIMULATOR_CUDA_MODULE
constexpr const char* kBuiltGpuModule = EMPLACE_SIMULATOR_CUDA_MODULE;  // its full path
#else
constexpr const char* kBuiltGpuModule = nullptr;
#endif

}  // namespace

const OpenedModule& ThisSimulatorGpuModule() {
  static const OpenedModule result =
      kBuiltGpuModule == nullptr
          ? OpenedModule{nullptr, "built without CUDA"}
          : OpenModule(ModulePlaces("EMPLACE_SIMULATOR_CUDA_MODULE", kBuiltGpuModule),
                       "CUDA",
                       kSimulatorGpuModuleEntry,
                       kSimulatorStamp);
  return result;
}

}  // namespace emplace
