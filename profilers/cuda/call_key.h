#pragma once

#include <string>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// Equal for calls that the same prepared kernel serves.
std::string CallKey(const KernelCall& call);

}  // namespace emplace::cuda
