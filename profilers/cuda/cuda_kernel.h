#pragma once

// Kernel calls on a GPU: cuBLASLt for matrix products, cuDNN for convolutions, and this project's
// kernels for the rest (kernels/).

#include <cstdint>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// A kernel call prepared for one GPU or partition, with fixed algorithm and descriptors. Used by
/// one thread at a time.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  /// Returns the GPU memory that Launch() needs in addition to its arguments [B]. A stream has one
  /// area for all its kernels.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// Enqueues the kernel. It allocates nothing, waits for nothing, and may be called while the
  /// stream is being captured.
  /// @param inputs, outputs  of the op: device pointers to the start of each tensor's storage,
  ///   256-byte aligned
  /// @param scratch          scratch_bytes() bytes, 256-byte aligned
  /// @throws CudaError
  virtual void Launch(void* const* inputs,
                      void* const* outputs,
                      void* scratch,
                      cudaStream_t stream) = 0;
};

/// Prepares calls for one GPU or partition, with the handles of CUDA's libraries. It must be used
/// in the CUDA context that was current at its construction.
class CudaKernelFactory {
 public:
  /// @param sm_count  of the partition; 0: the whole GPU
  /// @throws CudaError
  explicit CudaKernelFactory(int sm_count = 0);
  ~CudaKernelFactory();
  CudaKernelFactory(const CudaKernelFactory&) = delete;
  CudaKernelFactory& operator=(const CudaKernelFactory&) = delete;

  /// Prepares a kernel. For a convolution it runs the algorithm once as a trial and waits for the
  /// GPU.
  /// @throws CudaError naming the library call
  /// @throws RunError naming the call if no algorithm fits
  std::unique_ptr<CudaKernel> Prepare(const KernelCall& call);
  /// Returns the libraries with their versions: "cuBLASLt 13.1, cuDNN 9.1".
  std::string Libraries() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::cuda
