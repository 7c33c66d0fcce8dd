#pragma once

// Checks that a call is well formed, as described in kernel_table.h. Graphs come from the user, so
// every call is checked before it is used.

#include <string>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// Returns why a call is not well formed: its numbers of arguments, dtypes, shapes or parameters do
/// not fit each other. Does not check whether views lie inside their storage.
/// @return "1 inputs and 1 outputs; expected 2 to 3 and 1"; empty if the call is well formed
std::string WhyMalformed(const KernelCall& call);

/// Formats a call for messages: "matmul f32 [1, 2, 3], f32 [1, 3, 4] -> f32 [1, 2, 4]".
std::string Describe(const KernelCall& call);

}  // namespace emplace
