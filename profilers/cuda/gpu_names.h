#pragma once

// The names of GPUs and partitions in cost and cluster files. Makes no CUDA calls.

#include <string>
#include <string_view>

namespace emplace::cuda {

/// Returns the device kind: ("NVIDIA H200", 32) -> "h200_32sm". The maker is omitted, letters
/// become lower case, and all characters but letters and digits become "_".
std::string GpuKindName(std::string_view gpu_name, int sm_count);
/// Returns "132 SMs of NVIDIA H200" or "32 of 132 SMs of NVIDIA H200".
std::string GpuDescription(std::string_view gpu_name, int sm_count, int all_sms);

}  // namespace emplace::cuda
