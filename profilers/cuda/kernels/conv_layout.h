#pragma once

// A convolution in the form that cuDNN requires: packed NCHW or NHWC tensors, the same padding on
// both sides. Makes no CUDA calls.

#include <cstdint>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// Padding of one axis. cuDNN pads `pad` elements on both sides; the rest is in a padded copy of
/// the input.
struct AxisPadding {
  std::int64_t pad = 0;
  std::int64_t extra_begin = 0;
  std::int64_t extra_end = 0;  ///< < 0: rows at the end that no window covers are cut off

  bool copies() const { return extra_begin != 0 || extra_end != 0; }
  bool operator==(const AxisPadding&) const = default;
};

/// Returns the padding that needs the smallest copy.
/// @param size     of the input
/// @param begin    padding before it
/// @param span     elements from a window's first to its last, (taps - 1) * dilation + 1
/// @param outputs  number of windows
AxisPadding DecomposePadding(std::int64_t size,
                             std::int64_t begin,
                             std::int64_t span,
                             std::int64_t stride,
                             std::int64_t outputs);

/// The tensors of cuDNN. For a call that computes or reads gradients, x, y and w also stand for dx,
/// dy and dw.
struct ConvLayout {
  bool channels_last = false;  ///< NHWC tensors and KRSC filters, else NCHW and KCRS
  std::int64_t groups = 1;
  std::int64_t pad[2], stride[2], dilation[2];
  /// cuDNN's tensors, offset 0. y and w have the shapes of the call's. x may be larger (padding) or
  /// smaller (rows that no window covers).
  TensorView x, w, y;
  /// Whether cuDNN's x has another size than the call's. If so, these parts of the two correspond:
  bool pads_x = false;
  TensorView x_common_outer;  ///< in the call's x
  TensorView x_common_inner;  ///< in cuDNN's x
};

/// @param x, w, y  [n, c, h, w], [k, c / groups, r, s], [n, k, p, q]
/// @throws RunError if no window covers any part of the input
ConvLayout PlanConvolution(const TensorView& x,
                           const TensorView& w,
                           const TensorView& y,
                           const KernelParams& params,
                           bool channels_last);

/// Returns whether both x and y are in NHWC order rather than NCHW.
bool PrefersChannelsLast(const TensorView& x, const TensorView& y);

}  // namespace emplace::cuda
