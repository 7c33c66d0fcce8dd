// Optimiser updates: "optimizer.*" of the PyTorch exporter and TensorFlow's Apply*. The learning
// and decay rates of the latter are tensors with unknown values; usual values are taken, which does
// not change the work.

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {
namespace {

// PyTorch: (w, gradient, state...) -> (w, state...).
void EmitUpdate(OpReader& r, KernelKind kind, int num_state, KernelParams params) {
  r.Emit(kind, r.Inputs(0, 2 + num_state), r.Outputs(0, 1 + num_state), params);
}

KernelParams WithDecay(const OpReader& r) {
  return {.weight_decay = r.attributes().Number("weight_decay", 0)};
}

template <bool kDecoupled>
void Adam(OpReader& r) {
  const Attributes& attributes = r.attributes();
  KernelParams params = WithDecay(r);
  Require(kDecoupled || params.weight_decay == 0, "Adam with weight decay in the gradient");
  Require(!attributes.Bool("amsgrad", false), "amsgrad");
  params.epsilon = attributes.Number("eps", 1e-8);
  EmitUpdate(r, KernelKind::kAdam, 2, params);
}

void Momentum(OpReader& r) {
  Require(!r.attributes().Bool("nesterov", false), "Nesterov's momentum");
  Require(r.attributes().Number("dampening", 0) == 0, "momentum with dampening");
  KernelParams params = WithDecay(r);
  params.momentum = r.attributes().Number("momentum", 0.9);
  EmitUpdate(r, KernelKind::kMomentum, 1, params);
}

void Sgd(OpReader& r) {
  if (r.num_inputs() == 3) return Momentum(r);
  EmitUpdate(r, KernelKind::kGradientDescent, 0, WithDecay(r));
}

// In TensorFlow's updates the state is an input that changes in place; only w is an output.
// @param state  positions of the state in the op's inputs
void EmitApply(OpReader& r,
               KernelKind kind,
               std::vector<Argument> inputs,
               std::initializer_list<int> state,
               const KernelParams& params) {
  std::vector<Argument> outputs{r.Out(0)};
  for (const int position : state) outputs.push_back(r.In(position));
  r.Emit(kind, std::move(inputs), std::move(outputs), params);
}

// (w, m, v, beta1 power, beta2 power, rate, beta1, beta2, epsilon, gradient)
void ApplyAdam(OpReader& r) {
  Require(!r.attributes().Bool("use_nesterov", false), "Nesterov's momentum");
  const KernelParams params{.epsilon = 1e-8};
  EmitApply(r, KernelKind::kAdam, {r.In(0), r.In(9), r.In(1), r.In(2)}, {1, 2}, params);
}

// (w, rate, gradient)
void ApplyGradientDescent(OpReader& r) {
  EmitApply(r, KernelKind::kGradientDescent, {r.In(0), r.In(2)}, {}, {});
}

// (w, velocity, rate, gradient, momentum)
void ApplyMomentum(OpReader& r) {
  Require(!r.attributes().Bool("use_nesterov", false), "Nesterov's momentum");
  const KernelParams params{.momentum = 0.9};
  EmitApply(r, KernelKind::kMomentum, {r.In(0), r.In(3), r.In(1)}, {1}, params);
}

// (w, mean square, momentum, rate, rho, momentum, epsilon, gradient)
void ApplyRmsProp(OpReader& r) {
  const KernelParams params{.epsilon = 1, .momentum = 0.9, .beta2 = 0.9};
  EmitApply(r, KernelKind::kRmsProp, {r.In(0), r.In(1), r.In(2), r.In(7)}, {1, 2}, params);
}

constexpr WorkRule kOptimizerRules[] = {
    {"ApplyAdam", ApplyAdam},
    {"ApplyGradientDescent", ApplyGradientDescent},
    {"ApplyMomentum", ApplyMomentum},
    {"ApplyRMSProp", ApplyRmsProp},
    {"optimizer.adam", Adam<false>},
    {"optimizer.adamw", Adam<true>},
    {"optimizer.momentum", Momentum},
    {"optimizer.sgd", Sgd},
};

}  // namespace

std::span<const WorkRule> OptimizerWork() {
  return kOptimizerRules;
}

}  // namespace emplace::internal
