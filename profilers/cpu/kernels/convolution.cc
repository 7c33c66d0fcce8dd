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

// Returns whether a view is dense with dimensions in the order `order`, outermost first. Dimensions
// of size 1 do not count.
bool IsDense(const TensorView& view, const std::vector<int>& order) {
  std::int64_t stride = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (view.shape[*d] != 1 && view.strides[*d] != stride) return false;
    stride *= view.shape[*d];
  }
  return true;
}
bool IsNhwc(const TensorView& view) {
  return IsDense(view, {0, 2, 3, 1});
}
bool IsNchw(const TensorView& view) {
  return IsDense(view, {0, 1, 2, 3});
}

// oneDNN recognises a layout by all its strides, including those of dimensions of size 1.
Desc ActivationDesc(const TensorView& view, bool nhwc) {
  if (nhwc && IsNhwc(view)) return {view.shape, kOnednnF32, Tag::nhwc};
  if (!nhwc && IsNchw(view)) return {view.shape, kOnednnF32, Tag::nchw};
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

Problem ProblemOf(const KernelCall& call,
                  const TensorView& x,
                  const TensorView& w,
                  const TensorView& y) {
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
  const bool keeps =
      nhwc || (IsNchw(x) && IsNchw(y) && is_1x1 && call.kind != KernelKind::kConvBackwardFilter);
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

dnnl::convolution_forward::primitive_desc ForwardDesc(const Problem& p, const Desc* bias) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const auto operation = bias != nullptr ? dnnl::convolution_forward::desc(kKind,
                                                                           kDirect,
                                                                           p.asked_x,
                                                                           p.asked_w,
                                                                           *bias,
                                                                           p.asked_y,
                                                                           p.stride,
                                                                           p.dilation,
                                                                           p.pad_begin,
                                                                           p.pad_end)
                                         : dnnl::convolution_forward::desc(kKind,
                                                                           kDirect,
                                                                           p.asked_x,
                                                                           p.asked_w,
                                                                           p.asked_y,
                                                                           p.stride,
                                                                           p.dilation,
                                                                           p.pad_begin,
                                                                           p.pad_end);
  return {operation, OnednnAttributes(), OnednnEngine()};
}

std::unique_ptr<ViewKernel> MakeForward(const KernelCall& call) {
  const Problem p = ProblemOf(call, call.inputs[0].view, call.inputs[1].view, call.outputs[0].view);
  auto program = std::make_unique<OnednnProgram>();
  const bool has_bias = call.inputs.size() == 3;
  Desc bias;
  if (has_bias) {
    bias = Desc(call.inputs[2].view.shape, kOnednnF32, Tag::x);
  }
  const auto desc = ForwardDesc(p, has_bias ? &bias : nullptr);
  const Place x_in{Place::kInput, 0}, w_in{Place::kInput, 1}, y_out{Place::kOutput, 0};
  const Place x = program->Import(p.x, x_in, desc.src_desc());
  const Place w = program->Import(p.w, w_in, desc.weights_desc());
  const Place y = program->Target(p.y, y_out, desc.dst_desc());
  OnednnProgram::Bindings bindings{{DNNL_ARG_SRC, {desc.src_desc(), x}},
                                   {DNNL_ARG_WEIGHTS, {desc.weights_desc(), w}},
                                   {DNNL_ARG_DST, {desc.dst_desc(), y}}};
  if (has_bias) bindings.push_back({DNNL_ARG_BIAS, {bias, {Place::kInput, 2}}});
  program->Append(dnnl::convolution_forward(desc), desc, bindings);
  program->Export(desc.dst_desc(), y, p.y, y_out);
  return program;
}

std::unique_ptr<ViewKernel> MakeBackwardData(const KernelCall& call) {
  const Problem p = ProblemOf(call, call.outputs[0].view, call.inputs[1].view, call.inputs[0].view);
  auto program = std::make_unique<OnednnProgram>();
  const dnnl::convolution_backward_data::primitive_desc desc({dnnl::algorithm::convolution_direct,
                                                              p.asked_x,
                                                              p.asked_w,
                                                              p.asked_y,
                                                              p.stride,
                                                              p.dilation,
                                                              p.pad_begin,
                                                              p.pad_end},
                                                             OnednnAttributes(),
                                                             OnednnEngine(),
                                                             ForwardDesc(p, nullptr));
  const Place dx_out{Place::kOutput, 0};
  const Place dy = program->Import(p.y, {Place::kInput, 0}, desc.diff_dst_desc());
  const Place w = program->Import(p.w, {Place::kInput, 1}, desc.weights_desc());
  const Place dx = program->Target(p.x, dx_out, desc.diff_src_desc());
  program->Append(dnnl::convolution_backward_data(desc),
                  desc,
                  {{DNNL_ARG_DIFF_DST, {desc.diff_dst_desc(), dy}},
                   {DNNL_ARG_WEIGHTS, {desc.weights_desc(), w}},
                   {DNNL_ARG_DIFF_SRC, {desc.diff_src_desc(), dx}}});
  program->Export(desc.diff_src_desc(), dx, p.x, dx_out);
  return program;
}

std::unique_ptr<ViewKernel> MakeBackwardFilter(const KernelCall& call) {
  const Problem p = ProblemOf(call, call.inputs[0].view, call.outputs[0].view, call.inputs[1].view);
  auto program = std::make_unique<OnednnProgram>();
  const dnnl::convolution_backward_weights::primitive_desc desc(
      {dnnl::algorithm::convolution_direct,
       p.asked_x,
       p.asked_w,
       p.asked_y,
       p.stride,
       p.dilation,
       p.pad_begin,
       p.pad_end},
      OnednnAttributes(),
      OnednnEngine(),
      ForwardDesc(p, nullptr));
  const Place dw_out{Place::kOutput, 0};
  const Place x = program->Import(p.x, {Place::kInput, 0}, desc.src_desc());
  const Place dy = program->Import(p.y, {Place::kInput, 1}, desc.diff_dst_desc());
  const Place dw = program->Target(p.w, dw_out, desc.diff_weights_desc());
  program->Append(dnnl::convolution_backward_weights(desc),
                  desc,
                  {{DNNL_ARG_SRC, {desc.src_desc(), x}},
                   {DNNL_ARG_DIFF_DST, {desc.diff_dst_desc(), dy}},
                   {DNNL_ARG_DIFF_WEIGHTS, {desc.diff_weights_desc(), dw}}});
  program->Export(desc.diff_weights_desc(), dw, p.w, dw_out);
  return program;
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
