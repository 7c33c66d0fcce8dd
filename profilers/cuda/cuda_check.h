#pragma once

// Every call of CUDA's runtime goes through this macro; calls of the driver through that of
// driver_api.h, of cuBLASLt and cuDNN through those of kernels/library_check.h.

#include <cuda_runtime_api.h>

#include "profilers/cuda/cuda_error.h"

/// Runs a CUDA call. @throws emplace::cuda::CudaError with call, file, line and error name
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
