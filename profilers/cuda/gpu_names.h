#pragma once

// How GPUs and partitions are called in cost and cluster files. Plain host code.

#include <string>
#include <string_view>

namespace emplace::cuda {

/// Device kind: maker dropped, lower case, letters and digits joined by "_", with the SMs:
/// ("NVIDIA H200", 32) -> "h200_32sm".
std::string GpuKindName(std::string_view gpu_name, int sm_count);
/// "132 SMs of NVIDIA H200", "32 of 132 SMs of NVIDIA H200".
std::string GpuDescription(std::string_view gpu_name, int sm_count, int all_sms);

}  // namespace emplace::cuda
