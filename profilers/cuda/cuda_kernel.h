#pragma once

// Kernel calls on a GPU: cuBLASLt for products, cuDNN for convolution, own kernels for the rest.

#include <cstdint>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// A kernel call prepared for one GPU or partition: algorithm, descriptors and plan are fixed. One
/// thread at a time.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  /// What Launch() needs beside its arguments [B]; streams keep one area for all their kernels.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// Enqueues on `stream`: no allocation, no query, no synchronisation, and allowed while the
  /// stream is being captured.
  /// @param inputs, outputs  of the op, device pointers where each tensor's storage starts,
  /// 256-byte aligned    @param scratch  scratch_bytes(), likewise @throws CudaError
  virtual void Launch(void* const* inputs,
                      void* const* outputs,
                      void* scratch,
                      cudaStream_t stream) = 0;
};

/// Library handles of one GPU or partition. The current CUDA context must be the one it was made
/// in.
class CudaKernelFactory {
 public:
  /// @param sm_count  of the partition; 0: the whole GPU @throws CudaError
  explicit CudaKernelFactory(int sm_count = 0);
  ~CudaKernelFactory();
  CudaKernelFactory(const CudaKernelFactory&) = delete;
  CudaKernelFactory& operator=(const CudaKernelFactory&) = delete;

  /// A convolution's algorithm is run once on memory of its own, so that this waits for the GPU.
  /// @throws CudaError naming the library call; RunError naming the call if no algorithm fits
  std::unique_ptr<CudaKernel> Prepare(const KernelCall& call);
  /// "cuBLASLt 13.1, cuDNN 9.1"
  std::string Libraries() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::cuda
