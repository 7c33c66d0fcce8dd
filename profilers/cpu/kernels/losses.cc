// Losses over rows of class scores.

#include <algorithm>

#include "profilers/cpu/kernels/simd.h"
#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {
// Computes the log-softmax into the gradient, reads the loss from it, then takes exp in place.
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
  const bool is_forward = call.kind == KernelKind::kNllLossForward;
  const TensorView& classes = (is_forward ? call.inputs : call.outputs)[0].view;
  const std::int64_t batch = classes.shape[0], rows = classes.shape[1];
  TensorView labels = call.inputs[1].view;
  const std::int64_t batch_step = labels.strides[0] * SizeOf(labels.dtype);  // [B]
  labels.strides.erase(labels.strides.begin());
  // visit(position of the element of each row that its label selects)
  const auto for_rows = [=,
                         label = IndexReader(labels, classes.shape[2]),
                         strides = classes.strides](void* of, const auto& visit) {
    for (std::int64_t b = 0; b < batch; ++b) {
      const void* of_batch = At(of, b * batch_step);
      for (std::int64_t r = 0; r < rows; ++r) {
        visit(b * strides[0] + r * strides[1] + label(of_batch, r) * strides[2]);
      }
    }
  };
  const auto count = static_cast<double>(batch * rows);
  if (is_forward) {
    return MakeKernel([=](void* const* in, void* const* out, void*) {
      double sum = 0;
      for_rows(in[1], [&](std::int64_t at) { sum -= As<float>(in[0])[at]; });
      *As<float>(out[0]) = static_cast<float>(sum / count);
      *As<float>(out[1]) = static_cast<float>(count);
    });
  }
  std::shared_ptr<ViewKernel> clear = MakeFill(PartCall(KernelKind::kFill, {}, {classes}), threads);
  return MakeKernel([=](void* const* in, void* const* out, void* scratch) {
    clear->Run(nullptr, out, scratch);
    const float share = -*As<float>(in[0]) / *As<float>(in[2]);
    for_rows(in[1], [&](std::int64_t at) { As<float>(out[0])[at] = share; });
  });
}

}  // namespace emplace::cpu
