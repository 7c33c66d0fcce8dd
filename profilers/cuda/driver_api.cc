#include "profilers/cuda/driver_api.h"

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"

namespace emplace::cuda {

namespace {

/// @param version  CUDA version of the requested form of the function: 12040 for 12.4
template <typename Function>
void Resolve(Function& function, const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  EMPLACE_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || address == nullptr) {
    throw RunError(fmt::format("this machine's CUDA driver has no {} (of CUDA {}.{})",
                               name,
                               version / 1000,
                               version % 1000 / 10));
  }
  function = reinterpret_cast<Function>(address);
}

}  // namespace

const DriverApi& Driver() {
  static const DriverApi api = [] {
    DriverApi found;
    Resolve(found.GetErrorName, "cuGetErrorName", 6000);
    Resolve(found.GetErrorString, "cuGetErrorString", 6000);
    Resolve(found.StreamWaitValue64, "cuStreamWaitValue64", 11070);
    Resolve(found.StreamWriteValue64, "cuStreamWriteValue64", 11070);
    return found;
  }();
  return api;
}

const GreenContextApi& GreenContexts() {
  static const GreenContextApi api = [] {
    GreenContextApi found;
    Resolve(found.DeviceGetDevResource, "cuDeviceGetDevResource", 12040);
    Resolve(found.DevSmResourceSplitByCount, "cuDevSmResourceSplitByCount", 12040);
    Resolve(found.DevResourceGenerateDesc, "cuDevResourceGenerateDesc", 12040);
    Resolve(found.GreenCtxCreate, "cuGreenCtxCreate", 12040);
    Resolve(found.GreenCtxDestroy, "cuGreenCtxDestroy", 12040);
    Resolve(found.GreenCtxGetDevResource, "cuGreenCtxGetDevResource", 12040);
    Resolve(found.GreenCtxStreamCreate, "cuGreenCtxStreamCreate", 12050);
    return found;
  }();
  return api;
}

void CheckDriverCall(CUresult result, const char* call, const char* file, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  Driver().GetErrorName(result, &name);
  Driver().GetErrorString(result, &text);
  throw CudaError(call,
                  file,
                  line,
                  static_cast<int>(result),
                  name == nullptr ? "unknown error" : name,
                  text == nullptr ? "unknown error" : text);
}

}  // namespace emplace::cuda
