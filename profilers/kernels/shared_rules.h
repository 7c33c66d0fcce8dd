#pragma once

// Rules shared by the op tables of PyTorch and TensorFlow: ops with the same arguments in the same
// order. Private to profilers/kernels.

#include <vector>

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {

/// op(x)
template <Function kFunction>
void Unary(OpReader& r) {
  r.EmitElementwise(kFunction, {r.In(0)}, r.Out(0));
}

/// op(condition, a, b)
inline void Where(OpReader& r) {
  const Argument out = r.Out(0);
  r.Emit(KernelKind::kSelect,
         {Spread(r.In(0), out), Spread(r.In(1), out), Spread(r.In(2), out)},
         {out});
}

/// Fills the output with one number and ignores the inputs.
template <int kValue>
void Constant(OpReader& r) {
  r.EmitFill(kValue);
}

}  // namespace emplace::internal
