// Losses over rows of class scores.

#include <algorithm>

#include "profilers/cpu/kernels/indices.h"
#include "profilers/cpu/kernels/simd.h"

namespace emplace::cpu {
// log-softmax into the gradient's place, the loss read off it, then exp in place.
std::unique_ptr<ViewKernel> MakeSparseCrossEntropy(const KernelCall& call, int threads) {
  const TensorView &logits = call.inputs[0].view, &labels = call.inputs[1].view,
                   &loss = call.outputs[0].view, &gradient = call.outputs[1].view;
  if (!gradient.is_contiguous())
    return PackUnless(&IsContiguous, &MakeSparseCrossEntropy, call, threads);
  const IndexReader label(labels, logits.shape[1]);
  std::shared_ptr<ViewKernel> log_softmax =
      MakeSoftmax(PartCall(KernelKind::kLogSoftmax, {logits}, {gradient}), threads);
  std::shared_ptr<ViewKernel> exp = MakeElementwise(
      PartCall(KernelKind::kElementwise, {gradient}, {gradient}, Function::kExp), threads);
  const std::int64_t rows = logits.shape[0], width = logits.shape[1], stride = loss.strides[0];
  return MakeKernel(
      [=](void* const* in, void* const* out, void* scratch) {
        float *losses = As<float>(out[0]), *scores = As<float>(out[1]);
        log_softmax->Run(in, out + 1, scratch);
        for (std::int64_t i = 0; i < rows; ++i)
          losses[i * stride] = -scores[i * width + label(in[1], i)];
        exp->Run(out + 1, out + 1, scratch);
        for (std::int64_t i = 0; i < rows; ++i) scores[i * width + label(in[1], i)] -= 1;
      },
      std::max(log_softmax->scratch_bytes(), exp->scratch_bytes()));
}

std::unique_ptr<ViewKernel> MakeNllLoss(const KernelCall& call, int threads) {
  if (call.kind == KernelKind::kNllLossForward) {
    const TensorView& x = call.inputs[0].view;
    const IndexReader label(call.inputs[1].view, x.shape[1]);
    return MakeKernel([=, rows = x.shape[0], row_stride = x.strides[0], stride = x.strides[1]](
                          void* const* in, void* const* out, void*) {
      double sum = 0;
      for (std::int64_t i = 0; i < rows; ++i)
        sum -= As<float>(in[0])[i * row_stride + label(in[1], i) * stride];
      *As<float>(out[0]) = static_cast<float>(sum / static_cast<double>(rows));
      *As<float>(out[1]) = static_cast<float>(rows);
    });
  }
  const TensorView& dx = call.outputs[0].view;
  const IndexReader label(call.inputs[1].view, dx.shape[1]);
  std::shared_ptr<ViewKernel> clear =
      MakeFill(PartCall(KernelKind::kFill, {}, {call.outputs[0].view}), threads);
  return MakeKernel([=, rows = dx.shape[0], row_stride = dx.strides[0], stride = dx.strides[1]](
                        void* const* in, void* const* out, void* scratch) {
    clear->Run(nullptr, out, scratch);
    const float share = -*As<float>(in[0]) / *As<float>(in[2]);
    for (std::int64_t i = 0; i < rows; ++i)
      As<float>(out[0])[i * row_stride + label(in[1], i) * stride] = share;
  });
}

}  // namespace emplace::cpu
