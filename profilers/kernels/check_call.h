#pragma once

// Which calls are well formed. Graphs are the user's, so every call is checked before it is used.

#include <string>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// Why a call is not one of those that KernelKind describes: its numbers of arguments, ranks,
/// shapes or dtypes do not fit each other. Does not look whether views lie inside their storage.
/// @return "matmul: 1 inputs and 1 outputs"; empty if the call is well formed
std::string WhyMalformed(const KernelCall& call);

}  // namespace emplace
