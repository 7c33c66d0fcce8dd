#pragma once

// Kernel calls on a group of cores, with oneDNN, Eigen and hand-written loops (kernels/).

#include <cstdint>
#include <memory>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// A kernel call prepared for a group of cores. The algorithm is chosen and all memory is
/// allocated, so that Run() only computes. Used by one thread at a time.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  /// Returns the memory that Run() needs in addition to its arguments [B]. A device has one area
  /// for all its kernels.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// @param inputs, outputs  of the op: the start of each tensor's storage, 64-byte aligned.
  ///   Argument::index selects one of these for an argument of the call; Run() adds the offset of
  ///   its view.
  /// @param scratch  scratch_bytes() bytes, 64-byte aligned
  virtual void Run(void* const* inputs, void* const* outputs, void* scratch) = 0;
};

/// Prepares a kernel.
/// @param threads  number of OpenMP threads of the thread that will call Run()
/// @throws RunError naming the call and the reason if there is no implementation for it
std::unique_ptr<CpuKernel> PrepareCpuKernel(const KernelCall& call, int threads);

/// Returns the libraries of the kernels: "oneDNN 2.6.3, Eigen 3.4.0".
const char* CpuKernelLibraries();

}  // namespace emplace
