#pragma once

// Kernel calls on a group of cores: oneDNN, Eigen and own loops (kernels/).

#include <cstdint>
#include <memory>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// A kernel call prepared for a group of cores: the algorithm is chosen and everything is
/// allocated, so that Run() only computes. To be used by one thread at a time.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  /// Memory that Run() needs beside its arguments [B]; a device has one area for all its kernels.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// @param inputs, outputs  of the op, where each tensor's storage starts, 64-byte aligned. An
  /// argument of the call is number Argument::index of these; its view's offset is added here
  /// @param scratch  scratch_bytes() bytes, 64-byte aligned
  virtual void Run(void* const* inputs, void* const* outputs, void* scratch) = 0;
};

/// @param threads  that OpenMP in the thread which will call Run() uses
/// @throws RunError naming the call and the reason if there is no implementation for it
std::unique_ptr<CpuKernel> PrepareCpuKernel(const KernelCall& call, int threads);

/// "oneDNN 2.6.3, Eigen 3.4.0": what the kernels are made of.
const char* CpuKernelLibraries();

}  // namespace emplace
