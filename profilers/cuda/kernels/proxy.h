#pragma once

// The proxy for an op without a kernel: it moves the same bytes and performs the same number of
// FLOPs.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

inline constexpr int kMaxProxyArguments = 16;

/// Reads all inputs, writes zeros to all outputs, and performs `flops` FLOPs as fused multiply-adds
/// in registers.
struct ProxyJob {
  int num_inputs = 0, num_outputs = 0;
  const void* inputs[kMaxProxyArguments] = {};
  void* outputs[kMaxProxyArguments] = {};
  std::int64_t input_bytes[kMaxProxyArguments] = {}, output_bytes[kMaxProxyArguments] = {};
  double flops = 0;
  void* sink = nullptr;  ///< 4 bytes for a result, so that the compiler keeps the work
};

void LaunchProxy(const ProxyJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
