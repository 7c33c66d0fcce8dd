#pragma once

// How GPUs and partitions are called in cost and cluster files. Makes no CUDA calls.

#include <string>
#include <string_view>

namespace emplace::cuda {

/// Device kind: ("NVIDIA H200", 32) -> "h200_32sm". The maker is left out, letters are lower case,
/// and everything but letters and digits becomes "_".
std::string GpuKindName(std::string_view gpu_name, int sm_count);
/// "132 SMs of NVIDIA H200", "32 of 132 SMs of NVIDIA H200".
std::string GpuDescription(std::string_view gpu_name, int sm_count, int all_sms);

}  // namespace emplace::cuda
