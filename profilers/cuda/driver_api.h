#pragma once

// Functions of CUDA's driver API that the runtime API lacks. They are looked up by name at first
// use, because the module is not linked to the driver's library.

#include <cuda.h>
#include <cudaTypedefs.h>

#include "profilers/cuda/cuda_error.h"

namespace emplace::cuda {

/// Functions for errors, and for waiting for and writing to memory from a stream.
struct DriverApi {
  PFN_cuGetErrorName_v6000 GetErrorName = nullptr;
  PFN_cuGetErrorString_v6000 GetErrorString = nullptr;
  PFN_cuStreamWaitValue64_v11070 StreamWaitValue64 = nullptr;
  PFN_cuStreamWriteValue64_v11070 StreamWriteValue64 = nullptr;
};
/// @throws RunError naming the function that the driver of this machine lacks
const DriverApi& Driver();

/// Functions for partitions of a GPU.
struct GreenContextApi {
  PFN_cuDeviceGetDevResource_v12040 DeviceGetDevResource = nullptr;
  PFN_cuDevSmResourceSplitByCount_v12040 DevSmResourceSplitByCount = nullptr;
  PFN_cuDevResourceGenerateDesc_v12040 DevResourceGenerateDesc = nullptr;
  PFN_cuGreenCtxCreate_v12040 GreenCtxCreate = nullptr;
  PFN_cuGreenCtxDestroy_v12040 GreenCtxDestroy = nullptr;
  PFN_cuGreenCtxGetDevResource_v12040 GreenCtxGetDevResource = nullptr;
  PFN_cuGreenCtxStreamCreate_v12050 GreenCtxStreamCreate = nullptr;
};
/// @throws RunError naming the function; drivers before CUDA 12.5 lack them
const GreenContextApi& GreenContexts();

/// @throws CudaError for any result but CUDA_SUCCESS
void CheckDriverCall(CUresult result, const char* call, const char* file, int line);

}  // namespace emplace::cuda

/// Runs a call of the driver API.
/// @throws emplace::cuda::CudaError with call, file, line and error name
#define EMPLACE_DRIVER_CHECK(call) \
  ::emplace::cuda::CheckDriverCall((call), #call, __FILE__, __LINE__)
