#pragma once

#include <cstdint>
#include <vector>

#include "profilers/kernels/kernel_call.h"

namespace emplace::testing::internal {

/// Where each element of a view lies, row-major, in elements from the storage's start.
std::vector<std::int64_t> ElementOffsets(const TensorView& view);

/// What a function of kElementwise gives for two operands.
double Evaluate(Function function, double a, double b, double alpha);

}  // namespace emplace::testing::internal
