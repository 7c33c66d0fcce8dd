// Softmax, log-softmax and their gradients by oneDNN, over rows [rows, width].

#include "profilers/cpu/kernels/onednn_program.h"

namespace emplace::cpu {
namespace {

std::unique_ptr<ViewKernel> MakeSoftmaxForward(const KernelCall& call, dnnl::algorithm algorithm) {
  const auto x = OnednnDesc(call.inputs[0].view), y = OnednnDesc(call.outputs[0].view);
  const dnnl::softmax_v2_forward::primitive_desc desc(
      {dnnl::prop_kind::forward_inference, algorithm, x, y, 1}, OnednnAttributes(), OnednnEngine());
  return MakeOnednn<dnnl::softmax_v2_forward>(
      desc, {{DNNL_ARG_SRC, x, {Place::kInput, 0}}}, {{DNNL_ARG_DST, y, {Place::kOutput, 0}}});
}

std::unique_ptr<ViewKernel> MakeSoftmaxBackward(const KernelCall& call, dnnl::algorithm algorithm) {
  const auto dy = OnednnDesc(call.inputs[0].view), y = OnednnDesc(call.inputs[1].view),
             dx = OnednnDesc(call.outputs[0].view);
  const dnnl::softmax_v2_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, y, y, 1}, OnednnAttributes(), OnednnEngine());
  const dnnl::softmax_v2_backward::primitive_desc desc(
      {algorithm, dx, dy, y, 1}, OnednnAttributes(), OnednnEngine(), forward);
  return MakeOnednn<dnnl::softmax_v2_backward>(
      desc,
      {{DNNL_ARG_DIFF_DST, dy, {Place::kInput, 0}}, {DNNL_ARG_DST, y, {Place::kInput, 1}}},
      {{DNNL_ARG_DIFF_SRC, dx, {Place::kOutput, 0}}});
}

}  // namespace

std::unique_ptr<ViewKernel> MakeSoftmax(const KernelCall& call, int threads) {
  // oneDNN's fast implementations require rows without holes.
  if (auto packed = PackUnless(&IsContiguous, &MakeSoftmax, call, threads)) return packed;
  const bool is_forward = call.kind == KernelKind::kSoftmax || call.kind == KernelKind::kLogSoftmax;
  const bool is_log =
      call.kind == KernelKind::kLogSoftmax || call.kind == KernelKind::kLogSoftmaxBackward;
  const auto algorithm = is_log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  return is_forward ? MakeSoftmaxForward(call, algorithm) : MakeSoftmaxBackward(call, algorithm);
}

}  // namespace emplace::cpu
