#pragma once

// Every call of CUDA's runtime uses this macro. Calls of the driver use the macro of driver_api.h;
// calls of cuBLASLt and cuDNN use those of kernels/library_check.h.

#include <cuda_runtime_api.h>

#include "profilers/cuda/cuda_error.h"

/// Runs a CUDA call.
/// @throws emplace::cuda::CudaError with call, file, line and error name
#define EMPLACE_CUDA_CHECK(call)                                                 \
  do {                                                                           \
    const cudaError_t emplace_cuda_result = (call);                              \
    if (emplace_cuda_result != cudaSuccess) {                                    \
      throw ::emplace::cuda::CudaError(#call,                                    \
                                       __FILE__,                                 \
                                       __LINE__,                                 \
                                       static_cast<int>(emplace_cuda_result),    \
                                       cudaGetErrorName(emplace_cuda_result),    \
                                       cudaGetErrorString(emplace_cuda_result)); \
    }                                                                            \
  } while (false)
