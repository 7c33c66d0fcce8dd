#pragma once

// Shared parts of the op tables of PyTorch and TensorFlow: rules of ops with the same arguments in
// the same order, the windows of convolutions and poolings, which are alike once layout and padding
// are resolved, and tables of rows. Private to profilers/kernels.

#include <vector>

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {

/// op(x)
template <Function kFunction>
void Unary(OpReader& r) {
  r.EmitElementwise(kFunction, {r.In(0)}, r.Out(0));
}

/// op(a, b); also gradients such as ReluGrad(dy, y), silu_backward(dy, x)
template <Function kFunction>
void OfTwo(OpReader& r) {
  r.EmitElementwise(kFunction, {r.In(0), r.In(1)}, r.Out(0));
}

/// Copies an input to the output's shape.
template <int kInput>
void SpreadCopy(OpReader& r) {
  r.Emit(KernelKind::kCopy, {Spread(r.In(kInput), r.Out(0))}, {r.Out(0)});
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

/// Padding of one axis, in elements.
struct Padding {
  std::int64_t begin = 0, end = 0;
};
/// Computes TensorFlow's padding "SAME": the least that gives ceil(size / stride) windows, half of
/// it on either side, an odd element at the end.
/// @param size  of the image    @param window  elements that a window takes, `dilation` apart
/// @throws NoKernel for a stride that is not positive
Padding SamePadding(std::int64_t size,
                    std::int64_t window,
                    std::int64_t stride,
                    std::int64_t dilation);

/// @throws NoKernel for a window that is not over [h, w], or whose size, stride, padding or
/// dilation is negative or above 2^20
void RequireSane(const Window& window);

/// Increases window.pad_end to fit the number of windows: with PyTorch's ceil_mode the last window
/// may reach beyond the given padding.
/// @param image  [n, c, h, w]    @param windows  [n, c, p, q], one value per window
/// @throws NoKernel if the elements beyond would count in an average
void FitPadding(Window& window,
                const TensorView& image,
                const TensorView& windows,
                bool is_average);

/// Returns the rows of `argument` along `dim`: [size of dim, everything else].
Argument RowsAlong(const Argument& argument, int dim);
/// Returns the values for each index as rows [n, width], where n is the number of indices.
/// @throws NoKernel unless they are whole rows
Argument RowsFor(const Argument& values, const Argument& indices);

}  // namespace emplace::internal
