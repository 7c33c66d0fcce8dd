#pragma once

// TensorFlow's optimiser ops, for its table; PyTorch's are in OptimizerWork(). Their learning and
// decay rates are tensors whose values are not known; usual values are taken, which changes no
// work. Private to profilers/kernels.

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {

void ApplyAdam(OpReader& r);
void ApplyGradientDescent(OpReader& r);
void ApplyMomentum(OpReader& r);
void ApplyRmsProp(OpReader& r);

}  // namespace emplace::internal
