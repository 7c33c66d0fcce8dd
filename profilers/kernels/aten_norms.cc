// PyTorch's batch, layer and group norms.

#include <algorithm>
#include <functional>
#include <numeric>

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {
namespace aten {
namespace {

using std::int64_t;
using Ints = Attributes::Ints;

// _native_batch_norm_legit_functional(x, scale, offset, mean, variance)
//   -> y, mean, 1 / std, running mean, running variance
void BatchNorm(OpReader& r) {
  Require(r.attributes().Bool("training", true), "batch norm in inference");
  Require(r.num_inputs() == 5, "batch norm without scale, offset or running statistics");
  KernelParams params;
  params.epsilon = r.attributes().Number("eps", 1e-5);
  params.momentum = r.attributes().Number("momentum", 0.1);
  params.saves_inverse_std = true;
  r.Emit(KernelKind::kBatchNormForward, r.Inputs(0, 5), r.Outputs(0, 5), params);
}

void RequireAllOutputs(OpReader& r) {
  for (const bool wanted : r.attributes().Flags("output_mask", {true, true, true})) {
    Require(wanted, "a gradient that is not wanted");
  }
}

// native_batch_norm_backward(dy, x, scale, running mean, running variance, mean, 1 / std)
void BatchNormBackward(OpReader& r) {
  Require(r.attributes().Bool("train", true), "batch norm in inference");
  Require(r.num_inputs() == 7, "batch norm without scale or running statistics");
  RequireAllOutputs(r);
  KernelParams params;
  params.epsilon = r.attributes().Number("eps", 1e-5);
  params.saves_inverse_std = true;
  r.Emit(KernelKind::kBatchNormBackward,
         {r.In(0), r.In(1), r.In(2), r.In(5), r.In(6)},
         {r.Out(0), r.Out(1), r.Out(2)},
         params);
}

// Rows as long as `normalized_shape` says.
Argument AsNormalized(const Argument& argument, const Ints& normalized_shape) {
  const int64_t width = std::accumulate(
      normalized_shape.begin(), normalized_shape.end(), int64_t{1}, std::multiplies<>());
  const int64_t elements = argument.view.num_elements();
  Require(width > 0 && elements % width == 0, "rows of another length than normalized_shape");
  return With(argument, Reshape(argument.view, {elements / width, width}));
}

// A layer norm without scale and offset is a group norm of one channel: [rows, 1, width] and its
// statistics [rows, 1].
Argument AsOneChannel(const Argument& argument, const Ints& normalized_shape) {
  const Argument rows = AsNormalized(argument, normalized_shape);
  const std::vector<int64_t>& shape = rows.view.shape;
  return With(rows, Reshape(rows.view, {shape[0], 1, shape[1]}));
}
Argument AsColumn(const Argument& argument) {
  return With(argument, Reshape(argument.view, {argument.view.num_elements(), 1}));
}

// native_layer_norm(x, scale, offset) -> y, mean, 1 / std
void LayerNorm(OpReader& r) {
  const Ints shape = r.attributes().List("normalized_shape");
  KernelParams params;
  params.epsilon = r.attributes().Number("eps", 1e-5);
  if (r.num_inputs() == 1) {
    return r.Emit(KernelKind::kGroupNormForward,
                  {AsOneChannel(r.In(0), shape)},
                  {AsOneChannel(r.Out(0), shape), AsColumn(r.Out(1)), AsColumn(r.Out(2))},
                  params);
  }
  r.Emit(KernelKind::kLayerNormForward,
         {AsNormalized(r.In(0), shape), AsVector(r.In(1)), AsVector(r.In(2))},
         {AsNormalized(r.Out(0), shape), AsVector(r.Out(1)), AsVector(r.Out(2))},
         params);
}

// native_layer_norm_backward(dy, x, mean, 1 / std, scale, offset)
void LayerNormBackward(OpReader& r) {
  const Ints shape = r.attributes().List("normalized_shape");
  if (r.num_inputs() == 4) {
    return r.Emit(KernelKind::kGroupNormBackward,
                  {AsOneChannel(r.In(0), shape),
                   AsOneChannel(r.In(1), shape),
                   AsColumn(r.In(2)),
                   AsColumn(r.In(3))},
                  {AsOneChannel(r.Out(0), shape)});
  }
  RequireAllOutputs(r);
  r.Emit(KernelKind::kLayerNormBackward,
         {AsNormalized(r.In(0), shape),
          AsNormalized(r.In(1), shape),
          AsVector(r.In(2)),
          AsVector(r.In(3)),
          AsVector(r.In(4))},
         {AsNormalized(r.Out(0), shape), AsVector(r.Out(1)), AsVector(r.Out(2))});
}

// [n, c, ...] as [n, c, l].
Argument AsChannels(const Argument& argument) {
  Require(Rank(argument) >= 2, "a group norm that is not over [n, c, ...]");
  const std::vector<int64_t>& shape = argument.view.shape;
  const int64_t others = argument.view.num_elements() / std::max<int64_t>(1, shape[0] * shape[1]);
  return With(argument, Reshape(argument.view, {shape[0], shape[1], others}));
}

// native_group_norm(x, scale, offset), the last two together or not at all -> y, mean, 1 / std
void GroupNorm(OpReader& r) {
  KernelParams params;
  params.epsilon = r.attributes().Number("eps");
  std::vector<Argument> inputs{AsChannels(r.In(0))};
  for (int i = 1; i < r.num_inputs(); ++i) inputs.push_back(r.In(i));
  r.Emit(KernelKind::kGroupNormForward,
         std::move(inputs),
         {AsChannels(r.Out(0)), r.Out(1), r.Out(2)},
         params);
}

// native_group_norm_backward(dy, x, mean, 1 / std, scale), scale being optional
void GroupNormBackward(OpReader& r) {
  const bool has_scale = r.num_inputs() > 4;
  for (const bool wanted : r.attributes().Flags("output_mask", {true, has_scale, has_scale})) {
    Require(wanted || !has_scale, "a gradient that is not wanted");
  }
  std::vector<Argument> inputs{AsChannels(r.In(0)), AsChannels(r.In(1)), r.In(2), r.In(3)};
  std::vector<Argument> outputs{AsChannels(r.Out(0))};
  if (has_scale) {
    inputs.push_back(r.In(4));
    outputs.insert(outputs.end(), {r.Out(1), r.Out(2)});
  }
  r.Emit(KernelKind::kGroupNormBackward, std::move(inputs), std::move(outputs));
}

constexpr WorkRule kNormRules[] = {
    {"_native_batch_norm_legit_functional", BatchNorm},
    {"native_batch_norm_backward", BatchNormBackward},
    {"native_group_norm", GroupNorm},
    {"native_group_norm_backward", GroupNormBackward},
    {"native_layer_norm", LayerNorm},
    {"native_layer_norm_backward", LayerNormBackward},
};

}  // namespace
}  // namespace aten

std::span<const WorkRule> AtenNorms() {
  return aten::kNormRules;
}

}  // namespace emplace::internal
