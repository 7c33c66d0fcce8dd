#pragma once

#include <string>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// A text that is equal for equal calls and different for different ones: every field of the call
/// is part of it (call_fields.h). Backends prepare one kernel per key and use it for every op with
/// such a call.
std::string CallKey(const KernelCall& call);

}  // namespace emplace
