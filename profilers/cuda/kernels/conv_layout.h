#pragma once

// A convolution as cuDNN takes it: packed NCHW or NHWC tensors, the same padding on both sides.
// Makes no CUDA calls.

#include <cstdint>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// Padding of one axis: `pad` elements on both sides by cuDNN, the rest in a padded copy of the
/// input.
struct AxisPadding {
  std::int64_t pad = 0;
  std::int64_t extra_begin = 0;
  std::int64_t extra_end = 0;  ///< < 0: rows at the end that no window reaches are cut off

  bool copies() const { return extra_begin != 0 || extra_end != 0; }
  bool operator==(const AxisPadding&) const = default;
};

/// The least that has to be copied for a given padding.
/// @param size  of the input    @param begin  padding before it    @param outputs  number of
/// windows
/// @param span  elements from a window's first to its last, (taps - 1) * dilation + 1
AxisPadding DecomposePadding(std::int64_t size,
                             std::int64_t begin,
                             std::int64_t span,
                             std::int64_t stride,
                             std::int64_t outputs);

/// Row-major over [d0, d2, d3, d1]: NHWC of [n, c, h, w], KRSC of [k, c, r, s].
TensorView ChannelsLastView(DType dtype, const std::vector<std::int64_t>& shape);

/// The tensors that cuDNN gets. For a call that computes or takes gradients, x, y and w also stand
/// for dx, dy and dw.
struct ConvLayout {
  bool channels_last = false;  ///< NHWC tensors and KRSC filters, else NCHW and KCRS
  std::int64_t groups = 1;
  std::int64_t pad[2], stride[2], dilation[2];
  /// cuDNN's tensors, offset 0. y and w have the shapes of the call's; x may be larger (padding) or
  /// smaller (rows that no window reaches).
  TensorView x, w, y;
  /// Whether cuDNN's x has another size than the call's. Then both have this part in common:
  bool pads_x = false;
  TensorView x_common_outer;  ///< in the call's x
  TensorView x_common_inner;  ///< in cuDNN's x
};

/// @param x, w, y  [n, c, h, w], [k, c / groups, r, s], [n, k, p, q]
/// @throws RunError if no window reaches the input
ConvLayout PlanConvolution(const TensorView& x,
                           const TensorView& w,
                           const TensorView& y,
                           const KernelParams& params,
                           bool channels_last);

/// Whether x and y both lie in the order NHWC rather than NCHW.
bool PrefersChannelsLast(const TensorView& x, const TensorView& y);

}  // namespace emplace::cuda
