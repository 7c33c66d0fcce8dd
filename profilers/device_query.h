#pragma once

// Which GPUs this machine has. Plain C++: the CUDA calls sit in cuda/device_query.cu.

#include <cstdint>
#include <string>
#include <vector>

namespace emplace {

struct GpuInfo {
  std::string name;                          ///< "NVIDIA H200"
  int compute_major = 0, compute_minor = 0;  ///< compute capability
  int sm_count = 0;                          ///< streaming multiprocessors
  std::int64_t memory_bytes = 0;             ///< [B]
  std::string driver;                        ///< CUDA version the driver supports, "13.0"
};

/// True if this program was compiled with CUDA.
bool HasCuda();

/// GPUs in CUDA's order; empty without CUDA, without a driver and without a GPU.
/// @throws RunError if a driver is there and fails
std::vector<GpuInfo> QueryGpus();

}  // namespace emplace
