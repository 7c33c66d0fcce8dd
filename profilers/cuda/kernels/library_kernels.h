#pragma once

// Matmul by cuBLASLt and convolution by cuDNN.

#include <memory>

#include <cublasLt.h>
#include <cudnn.h>

#include "profilers/cuda/cuda_kernel.h"

namespace emplace::cuda {

/// The contexts of cuBLASLt and cuDNN for one GPU or partition. Kernels keep them alive.
class LibraryHandles {
 public:
  /// @param sm_count  streaming multiprocessors of the partition; 0: the whole GPU
  /// @throws CudaError
  explicit LibraryHandles(int sm_count);
  ~LibraryHandles();
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;

  cublasLtHandle_t cublas() const { return cublas_; }
  /// Returns cuDNN's handle, bound to `stream` until the next call.
  /// @throws CudaError
  cudnnHandle_t cudnn(cudaStream_t stream);
  int sm_count() const { return sm_count_; }

 private:
  int sm_count_;  // 0: all
  cublasLtHandle_t cublas_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
};

/// Prepares a kMatmul call. f32 products are computed in f32, not in TF32.
/// @throws CudaError
/// @throws RunError if no algorithm fits
std::unique_ptr<CudaKernel> PrepareMatmul(const KernelCall& call,
                                          std::shared_ptr<LibraryHandles> handles);

/// Prepares a call of one of the three kinds of convolution. It runs an algorithm once (trial.h)
/// before choosing it, because cuDNN's heuristics sometimes propose algorithms that refuse to run.
/// @throws as PrepareMatmul()
std::unique_ptr<CudaKernel> PrepareConvolution(const KernelCall& call,
                                               std::shared_ptr<LibraryHandles> handles);

}  // namespace emplace::cuda
