#pragma once

// TensorFlow's updates, for its table. Their rates are tensors: what they hold is data that changes
// no work, so usual values stand in. Private to profilers/kernels.

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {

void ApplyAdam(OpReader& r);
void ApplyGradientDescent(OpReader& r);
void ApplyMomentum(OpReader& r);
void ApplyRmsProp(OpReader& r);

}  // namespace emplace::internal
