#pragma once

// Matmul by cuBLASLt and convolution by cuDNN.

#include <memory>

#include <cublasLt.h>
#include <cudnn.h>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// The libraries' contexts of one GPU or partition; kernels keep them alive.
class LibraryHandles {
 public:
  /// @throws CudaError
  explicit LibraryHandles(int sm_count);
  ~LibraryHandles();
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;

  cublasLtHandle_t cublas() const { return cublas_; }
  /// Bound to `stream`. @throws CudaError
  cudnnHandle_t cudnn(cudaStream_t stream);
  int sm_count() const { return sm_count_; }

 private:
  int sm_count_;  // 0: all
  cublasLtHandle_t cublas_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
};

/// f32 products in f32: no TF32. @throws CudaError, RunError if no algorithm fits
std::unique_ptr<CudaKernel> PrepareMatmul(const KernelCall& call,
                                          std::shared_ptr<LibraryHandles> handles);

/// Likewise for the three kinds of convolution. Every algorithm is run once on invented data before
/// it is taken, since cuDNN's heuristics are known to name some that then refuse.
std::unique_ptr<CudaKernel> PrepareConvolution(const KernelCall& call,
                                               std::shared_ptr<LibraryHandles> handles);

}  // namespace emplace::cuda
