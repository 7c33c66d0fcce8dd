// Convolutions by oneDNN, forward and both gradients. The algorithm depends on the layout of the
// activations. NHWC is used as it is, and only the filter is reordered into oneDNN's blocks. NCHW
// is used as it is by 1x1 convolutions (matrix products). Otherwise it is reordered into blocks and
// back, which costs less than oneDNN's fallback, im2col.

#include <algorithm>

#include "profilers/cpu/kernels/onednn_program.h"

namespace emplace::cpu {
namespace {

using Tag = dnnl::memory::format_tag;
using Desc = dnnl::memory::desc;

bool IsNhwc(const TensorView& view) {
  return HaveEqualSteps(view, ChannelsLastView(view.dtype, view.shape));
}

// oneDNN recognises a layout by all its strides, including those of dimensions of size 1.
Desc ActivationDesc(const TensorView& view, bool nhwc) {
  if (nhwc && IsNhwc(view)) return {view.shape, kOnednnF32, Tag::nhwc};
  if (!nhwc && view.is_contiguous()) return {view.shape, kOnednnF32, Tag::nchw};
  return OnednnDesc(view);
}

// [k, c / g, r, s], or [g, k / g, c / g, r, s] if there are groups.
Desc FilterDesc(const TensorView& view, std::int64_t groups) {
  if (groups == 1) return OnednnDesc(view);
  std::vector<std::int64_t> shape = view.shape, strides = view.strides;
  shape[0] /= groups;
  shape.insert(shape.begin(), groups);
  strides.insert(strides.begin(), strides[0] * shape[1]);
  return OnednnDesc(shape, strides);
}

// Descriptors of the three tensors: the caller's layouts, and those requested from oneDNN.
struct Problem {
  Desc x, w, y;                    // the caller's
  Desc asked_x, asked_w, asked_y;  // `any` if oneDNN may choose
  std::vector<std::int64_t> stride, dilation, pad_begin, pad_end;
};

Problem ProblemOf(const KernelCall& call) {
  const ConvolutionRoles roles = RolesOf(call);
  const TensorView &x = roles.x.view, &w = roles.w.view, &y = roles.y.view;
  const Window& window = call.params.window;
  const std::int64_t groups = call.params.groups;
  Problem problem;
  for (int d = 0; d < 2; ++d) {
    const std::int64_t extent = (w.shape[2 + d] - 1) * window.dilation[d] + 1;
    const std::int64_t room = x.shape[2 + d] + window.pad_begin[d] - extent;
    const std::int64_t last = (y.shape[2 + d] - 1) * window.stride[d];
    // Less than the given padding if that has room for an additional window.
    const std::int64_t pad_end = std::min(window.pad_end[d], last - room + window.stride[d] - 1);
    problem.pad_end.push_back(pad_end);
    problem.dilation.push_back(window.dilation[d] - 1);
  }
  problem.stride = window.stride;
  problem.pad_begin = window.pad_begin;

  const bool nhwc = IsNhwc(x) && IsNhwc(y);
  const bool is_1x1 = w.shape[2] == 1 && w.shape[3] == 1 && window.stride[0] == 1 &&
                      window.stride[1] == 1 && groups == 1;
  const bool keeps = nhwc || (x.is_contiguous() && y.is_contiguous() && is_1x1 &&
                              call.kind != KernelKind::kConvBackwardFilter);
  problem.x = ActivationDesc(x, nhwc);
  problem.y = ActivationDesc(y, nhwc);
  problem.w = FilterDesc(w, groups);
  // oneDNN has a fast filter gradient for NHWC, but none for grouped blocks with odd channels.
  const bool asks_nhwc = groups > 1 && call.kind == KernelKind::kConvBackwardFilter;
  const Tag tag = asks_nhwc ? Tag::nhwc : Tag::any;
  problem.asked_x = keeps ? problem.x : Desc(x.shape, kOnednnF32, tag);
  problem.asked_y = keeps ? problem.y : Desc(y.shape, kOnednnF32, tag);
  problem.asked_w = Desc(problem.w.dims(), kOnednnF32, Tag::any);
  return problem;
}

dnnl::convolution_forward::primitive_desc ForwardDesc(const Problem& p, const Desc& bias = {}) {
  // A bias without dimensions is none.
  const dnnl::convolution_forward::desc operation(dnnl::prop_kind::forward_training,
                                                  dnnl::algorithm::convolution_direct,
                                                  p.asked_x,
                                                  p.asked_w,
                                                  bias,
                                                  p.asked_y,
                                                  p.stride,
                                                  p.dilation,
                                                  p.pad_begin,
                                                  p.pad_end);
  return {operation, OnednnAttributes(), OnednnEngine()};
}

template <class Gradient>
typename Gradient::primitive_desc GradientDesc(const Problem& p) {
  return {{dnnl::algorithm::convolution_direct,
           p.asked_x,
           p.asked_w,
           p.asked_y,
           p.stride,
           p.dilation,
           p.pad_begin,
           p.pad_end},
          OnednnAttributes(),
          OnednnEngine(),
          ForwardDesc(p)};
}

std::unique_ptr<ViewKernel> MakeForward(const KernelCall& call) {
  const Problem p = ProblemOf(call);
  std::vector<Operand> inputs{{DNNL_ARG_SRC, p.x, {Place::kInput, 0}},
                              {DNNL_ARG_WEIGHTS, p.w, {Place::kInput, 1}}};
  Desc bias;
  if (call.inputs.size() == 3) {
    bias = Desc(call.inputs[2].view.shape, kOnednnF32, Tag::x);
    inputs.push_back({DNNL_ARG_BIAS, bias, {Place::kInput, 2}});
  }
  return MakeOnednn<dnnl::convolution_forward>(
      ForwardDesc(p, bias), inputs, {{DNNL_ARG_DST, p.y, {Place::kOutput, 0}}});
}

std::unique_ptr<ViewKernel> MakeBackwardData(const KernelCall& call) {
  using Gradient = dnnl::convolution_backward_data;
  const Problem p = ProblemOf(call);
  return MakeOnednn<Gradient>(
      GradientDesc<Gradient>(p),
      {{DNNL_ARG_DIFF_DST, p.y, {Place::kInput, 0}}, {DNNL_ARG_WEIGHTS, p.w, {Place::kInput, 1}}},
      {{DNNL_ARG_DIFF_SRC, p.x, {Place::kOutput, 0}}});
}

std::unique_ptr<ViewKernel> MakeBackwardFilter(const KernelCall& call) {
  using Gradient = dnnl::convolution_backward_weights;
  const Problem p = ProblemOf(call);
  return MakeOnednn<Gradient>(
      GradientDesc<Gradient>(p),
      {{DNNL_ARG_SRC, p.x, {Place::kInput, 0}}, {DNNL_ARG_DIFF_DST, p.y, {Place::kInput, 1}}},
      {{DNNL_ARG_DIFF_WEIGHTS, p.w, {Place::kOutput, 0}}});
}

}  // namespace

std::unique_ptr<ViewKernel> MakeConvolution(const KernelCall& call, int threads) {
  if (auto packed = PackUnless(&IsInjective, &MakeConvolution, call, threads)) return packed;
  switch (call.kind) {
    case KernelKind::kConvForward:
      return MakeForward(call);
    case KernelKind::kConvBackwardData:
      return MakeBackwardData(call);
    default:
      return MakeBackwardFilter(call);
  }
}

}  // namespace emplace::cpu
