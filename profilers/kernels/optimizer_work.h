#pragma once

// Rules for TensorFlow's optimiser ops, used in its table; PyTorch's are in OptimizerWork(). Their
// learning and decay rates are tensors with unknown values; usual values are taken, which does not
// change the work. Private to profilers/kernels.

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {

void ApplyAdam(OpReader& r);
void ApplyGradientDescent(OpReader& r);
void ApplyMomentum(OpReader& r);
void ApplyRmsProp(OpReader& r);

}  // namespace emplace::internal
