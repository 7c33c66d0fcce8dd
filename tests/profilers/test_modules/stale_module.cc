// A CUDA module as another build of emplace would have made it.

#include "profilers/gpu_module.h"

extern "C" const emplace::GpuModule* EmplaceGpuModule() {
  static const emplace::GpuModule module = {"sources of yesterday", nullptr, nullptr};
  return &module;
}
