#pragma once

#include <string>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// Returns a text that is equal for equal calls and different for different ones. It includes every
/// field of the call (call_fields.h). Backends prepare one kernel per key and use it for every op
/// with such a call.
std::string CallKey(const KernelCall& call);

}  // namespace emplace
