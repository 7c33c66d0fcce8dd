// PyTorch's scaled dot-product attention, in the variants of its backends. All tensors are [batch,
// heads, words, width].

#include <cmath>

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {
namespace aten {
namespace {

KernelParams AttentionParams(OpReader& r, const Argument& q) {
  const Attributes& attributes = r.attributes();
  Require(attributes.Number("dropout_p", 0) == 0, "attention with dropout");
  Require(!attributes.Bool("enable_gqa", false), "attention with shared heads");
  Require(Rank(q) == 4, "attention that is not [batch, heads, words, width]");
  return {.alpha = attributes.Number("scale", 1 / std::sqrt(static_cast<double>(q.view.shape[3]))),
          .causal = attributes.Bool("is_causal", false)};
}

// (q, k, v, mask) -> y, log sum exp (may have more rows than there are words), and random number
// state, which attention without dropout does not change
void Attention(OpReader& r) {
  const Argument q = r.In(0);
  const KernelParams params = AttentionParams(r, q);
  std::vector<Argument> inputs = r.Inputs(0, 3), outputs{r.Out(0)};
  if (r.num_inputs() > 3) {
    const std::vector<std::int64_t>& of_q = q.view.shape;
    const std::int64_t words = inputs[1].view.shape[2];
    inputs.push_back(With(r.In(3), Broadcast(r.In(3).view, {of_q[0], of_q[1], of_q[2], words})));
  }
  if (r.num_outputs() > 1) {
    const Argument log_sum = r.Out(1);
    Require(Rank(log_sum) == 3, "sums that are not [batch, heads, words]");
    outputs.push_back(With(log_sum, Slice(log_sum.view, 2, 0, q.view.shape[2])));
  }
  r.Emit(KernelKind::kAttentionForward, std::move(inputs), std::move(outputs), params);
}

// (dy, q, k, v, y, log sum exp, mask) -> dq, dk, dv
void AttentionBackward(OpReader& r) {
  const Argument q = r.In(1);
  const KernelParams params = AttentionParams(r, q);
  std::vector<Argument> inputs = r.Inputs(0, 4);
  if (r.num_inputs() > 6) {
    const std::vector<std::int64_t>& of_q = q.view.shape;
    const std::int64_t words = inputs[2].view.shape[2];
    inputs.push_back(With(r.In(6), Broadcast(r.In(6).view, {of_q[0], of_q[1], of_q[2], words})));
  }
  Require(r.num_outputs() == 3, "a gradient of the mask");
  r.Emit(KernelKind::kAttentionBackward, std::move(inputs), r.Outputs(0, 3), params);
}

constexpr WorkRule kAttentionRules[] = {
    {"_scaled_dot_product_efficient_attention", Attention},
    {"_scaled_dot_product_flash_attention_for_cpu", Attention},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", AttentionBackward},
    {"scaled_dot_product_attention", Attention},
};

}  // namespace
}  // namespace aten

std::span<const WorkRule> AtenAttention() {
  return aten::kAttentionRules;
}

}  // namespace emplace::internal
