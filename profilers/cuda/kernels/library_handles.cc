#include "profilers/cuda/kernels/library_check.h"
#include "profilers/cuda/kernels/library_kernels.h"

namespace emplace::cuda {

LibraryHandles::LibraryHandles(int sm_count) : sm_count_(sm_count) {
  EMPLACE_CUBLAS_CHECK(cublasLtCreate(&cublas_));
  const cudnnStatus_t status = cudnnCreate(&cudnn_);
  if (status != CUDNN_STATUS_SUCCESS) cublasLtDestroy(cublas_);  // no destructor will run
  EMPLACE_CUDNN_CHECK(status);
}

LibraryHandles::~LibraryHandles() {
  cudnnDestroy(cudnn_);
  cublasLtDestroy(cublas_);
}

cudnnHandle_t LibraryHandles::cudnn(cudaStream_t stream) {
  EMPLACE_CUDNN_CHECK(cudnnSetStream(cudnn_, stream));
  return cudnn_;
}

}  // namespace emplace::cuda
