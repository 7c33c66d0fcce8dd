#include "profilers/cuda/gpu_names.h"

#include <cctype>

#include <fmt/format.h>

namespace emplace::cuda {

std::string GpuKindName(std::string_view gpu_name, int sm_count) {
  for (std::string_view maker : {"NVIDIA ", "GeForce ", "Tesla "}) {
    if (gpu_name.starts_with(maker)) gpu_name.remove_prefix(maker.size());
  }
  std::string kind;
  for (char c : gpu_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      kind += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!kind.empty() && kind.back() != '_') {
      kind += '_';
    }
  }
  if (!kind.empty() && kind.back() == '_') kind.pop_back();
  return fmt::format("{}_{}sm", kind.empty() ? "gpu" : kind, sm_count);
}

std::string GpuDescription(std::string_view gpu_name, int sm_count, int all_sms) {
  return sm_count == all_sms ? fmt::format("{} SMs of {}", all_sms, gpu_name)
                             : fmt::format("{} of {} SMs of {}", sm_count, all_sms, gpu_name);
}

}  // namespace emplace::cuda
