#pragma once

// The stand-in for an op without kernel: the same bytes, the same FLOPs, no meaning.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

inline constexpr int kMaxProxyArguments = 16;

/// Reads all inputs, writes zeros to all outputs, does `flops` (fused multiply-adds in registers).
struct ProxyJob {
  int num_inputs = 0, num_outputs = 0;
  const void* inputs[kMaxProxyArguments] = {};
  void* outputs[kMaxProxyArguments] = {};
  std::int64_t input_bytes[kMaxProxyArguments] = {}, output_bytes[kMaxProxyArguments] = {};
  double flops = 0;
  void* sink = nullptr;  ///< 4 bytes; keeps the compiler from dropping what nobody needs
};

/// Bytes from a view's first element to its last.
std::int64_t SpanBytes(const TensorView& view);

void LaunchProxy(const ProxyJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
