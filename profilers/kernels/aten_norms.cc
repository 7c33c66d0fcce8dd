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
  const KernelParams params{.epsilon = r.attributes().Number("eps", 1e-5),
                            .momentum = r.attributes().Number("momentum", 0.1),
                            .saves_inverse_std = true};
  r.Emit(KernelKind::kBatchNormForward, r.Inputs(0, 5), r.Outputs(0, 5), params);
}

void RequireAllOutputs(OpReader& r) {
  for (const bool wanted : r.attributes().Flags("output_mask", {true, true, true})) {
    Require(wanted, "a gradient that is not computed");
  }
}

// native_batch_norm_backward(dy, x, scale, running mean, running variance, mean, 1 / std)
void BatchNormBackward(OpReader& r) {
  Require(r.attributes().Bool("train", true), "batch norm in inference");
  Require(r.num_inputs() == 7, "batch norm without scale or running statistics");
  RequireAllOutputs(r);
  const KernelParams params{.epsilon = r.attributes().Number("eps", 1e-5),
                            .saves_inverse_std = true};
  r.Emit(KernelKind::kBatchNormBackward,
         {r.In(0), r.In(1), r.In(2), r.In(5), r.In(6)},
         {r.Out(0), r.Out(1), r.Out(2)},
         params);
}

// The rows of a layer norm, seen as [batch, rows, width].
class NormalizedRows {
 public:
  // @param all  tensors normalised along `normalized_shape`. Their batch is 1 if all of them can be
  // viewed that way, else their first axis: rows of permuted images have no single stride
  NormalizedRows(const Ints& normalized_shape, const std::vector<Argument>& all) {
    width_ = std::accumulate(
        normalized_shape.begin(), normalized_shape.end(), int64_t{1}, std::multiplies<>());
    const int64_t elements = all[0].view.num_elements();
    Require(width_ > 0 && elements % width_ == 0,
            "rows whose length differs from normalized_shape");
    rows_ = elements / width_;
    const bool is_one = std::ranges::all_of(all, [&](const Argument& argument) {
      return argument.view.num_elements() == elements &&
             TryReshape(argument.view, {1, rows_, width_}).has_value();
    });
    if (is_one || Rank(all[0]) < 2) return;
    batch_ = all[0].view.shape[0];
    rows_ /= batch_;
  }
  Argument Rows(const Argument& argument) const {
    return With(argument, Reshape(argument.view, {batch_, rows_, width_}));
  }
  Argument Statistic(const Argument& argument) const {
    return With(argument, Reshape(argument.view, {batch_, rows_}));
  }
  // Without scale and offset, a layer norm is a group norm of one channel: [rows, 1, width] with
  // statistics [rows, 1].
  Argument OneChannel(const Argument& argument) const {
    return With(argument, Reshape(argument.view, {batch_ * rows_, 1, width_}));
  }
  Argument Column(const Argument& argument) const {
    return With(argument, Reshape(argument.view, {batch_ * rows_, 1}));
  }

 private:
  int64_t batch_ = 1, rows_ = 0, width_ = 0;
};

// native_layer_norm(x, scale, offset) -> y, mean, 1 / std. Scale and offset are optional together
void LayerNorm(OpReader& r) {
  const NormalizedRows rows(r.attributes().List("normalized_shape"), {r.In(0), r.Out(0)});
  const KernelParams params{.epsilon = r.attributes().Number("eps", 1e-5)};
  if (r.num_inputs() == 1) {
    return r.Emit(KernelKind::kGroupNormForward,
                  {rows.OneChannel(r.In(0))},
                  {rows.OneChannel(r.Out(0)), rows.Column(r.Out(1)), rows.Column(r.Out(2))},
                  params);
  }
  r.Emit(KernelKind::kLayerNormForward,
         {rows.Rows(r.In(0)), AsVector(r.In(1)), AsVector(r.In(2))},
         {rows.Rows(r.Out(0)), rows.Statistic(r.Out(1)), rows.Statistic(r.Out(2))},
         params);
}

// native_layer_norm_backward(dy, x, mean, 1 / std, scale, offset)
void LayerNormBackward(OpReader& r) {
  const NormalizedRows rows(r.attributes().List("normalized_shape"), {r.In(0), r.In(1), r.Out(0)});
  if (r.num_inputs() == 4) {
    return r.Emit(KernelKind::kGroupNormBackward,
                  {rows.OneChannel(r.In(0)),
                   rows.OneChannel(r.In(1)),
                   rows.Column(r.In(2)),
                   rows.Column(r.In(3))},
                  {rows.OneChannel(r.Out(0))});
  }
  RequireAllOutputs(r);
  r.Emit(KernelKind::kLayerNormBackward,
         {rows.Rows(r.In(0)),
          rows.Rows(r.In(1)),
          rows.Statistic(r.In(2)),
          rows.Statistic(r.In(3)),
          AsVector(r.In(4))},
         {rows.Rows(r.Out(0)), AsVector(r.Out(1)), AsVector(r.Out(2))});
}

// Returns [n, c, ...] as [n, c, l].
Argument AsChannels(const Argument& argument) {
  Require(Rank(argument) >= 2, "a group norm that is not over [n, c, ...]");
  const std::vector<int64_t>& shape = argument.view.shape;
  const int64_t others = argument.view.num_elements() / std::max<int64_t>(1, shape[0] * shape[1]);
  return With(argument, Reshape(argument.view, {shape[0], shape[1], others}));
}

// native_group_norm(x, scale, offset) -> y, mean, 1 / std. Scale and offset are optional together
void GroupNorm(OpReader& r) {
  const KernelParams params{.epsilon = r.attributes().Number("eps")};
  std::vector<Argument> inputs{AsChannels(r.In(0))};
  for (int i = 1; i < r.num_inputs(); ++i) inputs.push_back(r.In(i));
  r.Emit(KernelKind::kGroupNormForward,
         std::move(inputs),
         {AsChannels(r.Out(0)), r.Out(1), r.Out(2)},
         params);
}

// native_group_norm_backward(dy, x, mean, 1 / std, scale); scale is optional
void GroupNormBackward(OpReader& r) {
  const bool has_scale = r.num_inputs() > 4;
  for (const bool wanted : r.attributes().Flags("output_mask", {true, has_scale, has_scale})) {
    Require(wanted || !has_scale, "a gradient that is not computed");
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
