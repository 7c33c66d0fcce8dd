#include "profilers/cuda/kernels/batch_norm.h"

namespace emplace::cuda {

std::int64_t BatchNormPlan::scratch_bytes() const {
  const std::int64_t partial = static_cast<std::int64_t>(sums.splits) * channels * 2;
  const std::int64_t coefficients = channels * 4;
  return (partial + coefficients) * static_cast<std::int64_t>(sizeof(float));
}

BatchNormPlan PlanBatchNorm(const TensorView& output, std::span<const TensorView> inputs) {
  EMPLACE_CHECK(inputs.size() == 1 || inputs.size() == 2);
  constexpr int kChannel = 1;
  BatchNormPlan plan;
  plan.channels = output.shape[kChannel];
  plan.count = output.shape[0] * output.shape[2] * output.shape[3];
  std::vector<TensorView> without_channel, all = {output};
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    plan.channel_strides[n] = inputs[n].strides[kChannel];
    TensorView view = inputs[n];
    view.shape.erase(view.shape.begin() + kChannel);
    view.strides.erase(view.strides.begin() + kChannel);
    without_channel.push_back(view);
    all.push_back(inputs[n]);
  }
  if (inputs.size() == 1) all.push_back(inputs[0]);  // the channel number is always operand 3
  all.push_back({DType::kI32, output.shape, {0, 1, 0, 0}, 0});
  plan.reduced = Collapse<2>(without_channel, DimOrder::kMemory);
  plan.all = Collapse<4>(all, DimOrder::kMemory);
  const Strided<2>& reduced = plan.reduced;
  plan.sums = ChooseReduceShape(plan.channels,
                                plan.count,
                                plan.channel_strides[0] == 1,
                                reduced.rank > 0 && reduced.strides[0][reduced.rank - 1] == 1);
  plan.per_thread = plan.all.rank > 0 && plan.all.shape[plan.all.rank - 1] % 4 == 0 ? 4 : 1;
  return plan;
}

}  // namespace emplace::cuda
