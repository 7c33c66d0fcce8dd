#pragma once

#include <cstdint>
#include <memory>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// A kernel call prepared for a group of cores: algorithm chosen, everything allocated. Run() only
/// computes: no allocation, no choice. One thread at a time.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  /// What Run() needs beside its arguments [B]; devices keep one area for all their kernels.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// @param inputs, outputs  of the op: where each tensor's storage starts (Argument::index picks,
  /// the view's offset is added here); 64-byte aligned
  /// @param scratch  scratch_bytes(), 64-byte aligned
  virtual void Run(void* const* inputs, void* const* outputs, void* scratch) = 0;
};

/// @param threads  that the calling thread's OpenMP runtime will use
/// @throws RunError naming the call if no implementation exists
std::unique_ptr<CpuKernel> PrepareCpuKernel(const KernelCall& call, int threads);

/// "oneDNN 2.6.3, Eigen 3.4.0": what the kernels are made of.
const char* CpuKernelLibraries();

}  // namespace emplace
