#pragma once

// Kernel calls on a GPU: cuBLASLt for matrix products, cuDNN for convolutions, own kernels for the
// rest (kernels/).

#include <cstdint>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// A kernel call prepared for one GPU or partition: algorithm and descriptors are fixed. To be used
/// by one thread at a time.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  /// GPU memory that Launch() needs beside its arguments [B]; a stream has one area for all its
  /// kernels.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// Enqueues the kernel. Allocates nothing, waits for nothing, and may be called while the stream
  /// is being captured.
  /// @param inputs, outputs  of the op: device pointers to where each tensor's storage starts,
  /// 256-byte aligned    @param scratch  scratch_bytes() bytes, aligned likewise
  /// @throws CudaError
  virtual void Launch(void* const* inputs,
                      void* const* outputs,
                      void* scratch,
                      cudaStream_t stream) = 0;
};

/// Prepares calls for one GPU or partition, with the handles of CUDA's libraries. Must be used in
/// the CUDA context that was current when it was made.
class CudaKernelFactory {
 public:
  /// @param sm_count  of the partition; 0: the whole GPU @throws CudaError
  explicit CudaKernelFactory(int sm_count = 0);
  ~CudaKernelFactory();
  CudaKernelFactory(const CudaKernelFactory&) = delete;
  CudaKernelFactory& operator=(const CudaKernelFactory&) = delete;

  /// Waits for the GPU where the call is a convolution, whose algorithm is run once for a trial.
  /// @throws CudaError naming the library call; RunError naming the call if no algorithm fits
  std::unique_ptr<CudaKernel> Prepare(const KernelCall& call);
  /// Libraries with their versions: "cuBLASLt 13.1, cuDNN 9.1".
  std::string Libraries() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::cuda
