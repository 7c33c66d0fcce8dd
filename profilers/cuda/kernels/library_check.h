#pragma once

// Every call of cuBLASLt and cuDNN uses these macros, and owners hold their objects.

#include <memory>
#include <string>
#include <type_traits>

#include <cublasLt.h>
#include <cudnn.h>

#include "profilers/cuda/cuda_error.h"

/// Runs a cuBLASLt call.
/// @throws emplace::cuda::CudaError with call, file, line and status name
#define EMPLACE_CUBLAS_CHECK(call)                                                      \
  do {                                                                                  \
    const cublasStatus_t emplace_cublas_result = (call);                                \
    if (emplace_cublas_result != CUBLAS_STATUS_SUCCESS) {                               \
      throw ::emplace::cuda::CudaError(#call,                                           \
                                       __FILE__,                                        \
                                       __LINE__,                                        \
                                       static_cast<int>(emplace_cublas_result),         \
                                       cublasLtGetStatusName(emplace_cublas_result),    \
                                       cublasLtGetStatusString(emplace_cublas_result)); \
    }                                                                                   \
  } while (false)

/// Runs a cuDNN call.
/// @throws emplace::cuda::CudaError with call, file, line and cuDNN's message
#define EMPLACE_CUDNN_CHECK(call)                                                       \
  do {                                                                                  \
    const cudnnStatus_t emplace_cudnn_result = (call);                                  \
    if (emplace_cudnn_result != CUDNN_STATUS_SUCCESS) {                                 \
      throw ::emplace::cuda::CudaError(#call,                                           \
                                       __FILE__,                                        \
                                       __LINE__,                                        \
                                       static_cast<int>(emplace_cudnn_result),          \
                                       cudnnGetErrorString(emplace_cudnn_result),       \
                                       ::emplace::cuda::internal::CudnnText().c_str()); \
    }                                                                                   \
  } while (false)

namespace emplace::cuda {

/// Deletes an object of a library with the library's function kDestroy.
template <auto kDestroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};
/// An owner of a library's object: Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>.
template <class Handle, auto kDestroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<kDestroy>>;

namespace internal {

/// Returns cuDNN's message for the last error of this thread.
inline std::string CudnnText() {
  char text[512] = "";
  cudnnGetLastErrorString(text, sizeof text);
  return text;
}

}  // namespace internal
}  // namespace emplace::cuda
