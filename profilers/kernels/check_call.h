#pragma once

// Which calls are well formed: those that kernel_table.h describes. Graphs are the user's, so every
// call is checked before it is used.

#include <string>

#include "profilers/kernels/kernel_call.h"

namespace emplace {

/// Why a call is not one of those that kernel_table.h describes: its numbers of arguments, dtypes,
/// shapes or parameters do not fit each other. Does not look whether views lie inside their
/// storage.
/// @return "1 inputs and 1 outputs; expected 2 to 3 and 1"; empty if the call is well formed
std::string WhyMalformed(const KernelCall& call);

/// A call for messages: "matmul f32 [1, 2, 3], f32 [1, 3, 4] -> f32 [1, 2, 4]".
std::string Describe(const KernelCall& call);

}  // namespace emplace
