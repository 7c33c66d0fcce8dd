#include "profilers/cuda/kernels/conv_layout.h"

#include <algorithm>

#include "framework/base/error.h"

namespace emplace::cuda {
namespace {

bool IsChannelsLast(const TensorView& view) {
  return HaveEqualSteps(view, ChannelsLastView(view.dtype, view.shape));
}

}  // namespace

AxisPadding DecomposePadding(std::int64_t size,
                             std::int64_t begin,
                             std::int64_t span,
                             std::int64_t stride,
                             std::int64_t outputs) {
  const std::int64_t reach = (outputs - 1) * stride + span;  // extent of all windows
  const std::int64_t end = reach - begin - size;  // elements that the windows need after the input
  // cuDNN uses floor((size + 2 pad - span) / stride) + 1 windows, so less than a stride may remain.
  const auto fits = [&](std::int64_t total) { return total >= reach && total < reach + stride; };
  if (fits(size + 2 * begin)) return {begin, 0, 0};
  if (end > begin) return {begin, 0, end - begin};
  AxisPadding padding{std::max<std::int64_t>(end, 0), 0, 0};
  padding.extra_begin = begin - padding.pad;
  const std::int64_t total = size + padding.extra_begin + 2 * padding.pad;
  if (!fits(total)) padding.extra_end = reach - total;
  return padding;
}

bool PrefersChannelsLast(const TensorView& x, const TensorView& y) {
  return IsChannelsLast(x) && IsChannelsLast(y) && !(x.is_contiguous() && y.is_contiguous());
}

ConvLayout PlanConvolution(const TensorView& x,
                           const TensorView& w,
                           const TensorView& y,
                           const KernelParams& params,
                           bool channels_last) {
  const Window& window = params.window;
  ConvLayout layout;
  layout.channels_last = channels_last;
  layout.groups = params.groups;
  std::vector<std::int64_t> padded = x.shape;
  layout.x_common_outer = x;
  layout.x_common_outer.offset = 0;
  std::int64_t begin[2];
  for (int axis = 0; axis < 2; ++axis) {
    const int d = 2 + axis;
    const std::int64_t span = (w.shape[d] - 1) * window.dilation[axis] + 1;
    const AxisPadding padding =
        DecomposePadding(x.shape[d], window.pad_begin[axis], span, window.stride[axis], y.shape[d]);
    layout.pad[axis] = padding.pad;
    layout.stride[axis] = window.stride[axis];
    layout.dilation[axis] = window.dilation[axis];
    layout.pads_x |= padding.copies();
    begin[axis] = padding.extra_begin;
    padded[d] += padding.extra_begin + padding.extra_end;
    layout.x_common_outer.shape[d] += std::min<std::int64_t>(padding.extra_end, 0);
    if (layout.x_common_outer.shape[d] <= 0) throw RunError("no window reaches the input");
  }
  const auto lay_out = [&](const std::vector<std::int64_t>& shape) {
    return channels_last ? ChannelsLastView(DType::kF32, shape)
                         : ContiguousView(DType::kF32, shape);
  };
  layout.x = lay_out(padded);
  layout.w = lay_out(w.shape);
  layout.y = lay_out(y.shape);
  layout.x_common_inner = layout.x;
  layout.x_common_inner.shape = layout.x_common_outer.shape;
  layout.x_common_inner.offset = begin[0] * layout.x.strides[2] + begin[1] * layout.x.strides[3];
  return layout;
}

}  // namespace emplace::cuda
