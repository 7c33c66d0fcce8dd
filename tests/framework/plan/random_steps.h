#pragma once

// Random training steps for tests of plans.

#include <string>
#include <vector>

#include <fmt/format.h>

#include "framework/base/random.h"
#include "framework/graph/graph.h"

namespace emplace::testing {

/// Builds a step: parameters, layers "layerL/fI" of forward ops, "layerL/bI" of their gradients in
/// reverse, an update of each parameter with a gradient. Some ops make several gradients, views or
/// buffers, or have control inputs and labels. Ids are in topological order; costs are for "gpu".
class RandomStep {
 public:
  explicit RandomStep(Rng& rng) : rng_(rng) {}

  Graph Make() {
    const int input = AddTensor(TensorRole::kInput);
    std::vector<int> arriving{input};
    for (int layer = 0; layer < 1 + UniformInt(rng_, 4); ++layer) AddLayer(layer, arriving);
    for (std::size_t i = forward_.size(); i-- > 0;) AddBackward(forward_[i]);
    for (std::size_t p = 0; p < parameters_.size(); ++p) AddUpdate(static_cast<int>(p));
    AddControls();
    return Graph("step", std::move(tensors_), std::move(ops_));
  }

 private:
  struct Forward {
    int op, layer, number;
    std::vector<int> activations;  // that it reads
    std::vector<int> weights;      // positions among the parameters
  };

  bool Chance(double share) { return Uniform01(rng_) < share; }
  int Any(const std::vector<int>& values) {
    return values[UniformInt(rng_, static_cast<int>(values.size()))];
  }

  int AddTensor(TensorRole role, int alias_of = -1) {
    tensors_.push_back({.name = fmt::format("t{}", tensors_.size()), .dtype = "f32"});
    const int size = 1 + UniformInt(rng_, 8);
    tensors_.back().shape = {size};
    tensors_.back().bytes = 4 * size;
    tensors_.back().role = role;
    tensors_.back().alias_of = alias_of;
    gradient_of_.push_back(-1);
    return static_cast<int>(tensors_.size()) - 1;
  }

  int AddOp(const std::string& name,
            const std::string& kind,
            Phase phase,
            std::vector<int> inputs) {
    ops_.push_back({.name = name, .kind = kind, .inputs = std::move(inputs)});
    ops_.back().phase = phase;
    const bool storage = ops_.back().IsStorage();
    ops_.back().cost_ns = {{"gpu", storage ? 0.0 : UniformInt(rng_, 10)}};
    ops_.back().flops = storage ? 0 : UniformInt(rng_, 100);
    return static_cast<int>(ops_.size()) - 1;
  }

  void AddLayer(int layer, std::vector<int>& arriving) {
    std::vector<int> own, fresh;
    for (int i = UniformInt(rng_, 3); i > 0; --i) {
      own.push_back(static_cast<int>(parameters_.size()));
      const int op = AddOp(fmt::format("w{}", own.back()), "parameter", Phase::kForward, {});
      ops_[op].colocate = ops_[op].name;
      ops_[op].outputs = {AddTensor(TensorRole::kParameter)};
      parameters_.push_back(ops_[op].outputs[0]);
      gradients_.emplace_back();
    }
    for (int i = 0; i < 1 + UniformInt(rng_, 4); ++i) {
      Forward forward{.op = 0, .layer = layer, .number = i, .activations = {}, .weights = {}};
      forward.activations = {fresh.empty() || Chance(0.2) ? Any(arriving) : Any(fresh)};
      if (Chance(0.3)) forward.activations.push_back(Any(Chance(0.7) ? arriving : all_));
      std::vector<int> inputs = forward.activations;
      for (int weight : own) {
        if (!Chance(0.6)) continue;
        forward.weights.push_back(weight);
        inputs.push_back(parameters_[weight]);
      }
      forward.op = AddOp(fmt::format("layer{}/f{}", layer, i), "test.f", Phase::kForward, inputs);
      for (int n = 1 + UniformInt(rng_, 2); n > 0; --n) {
        const int alias = Chance(0.2) ? Any(forward.activations) : -1;
        fresh.push_back(AddTensor(TensorRole::kActivation, alias));
        ops_[forward.op].outputs.push_back(fresh.back());
      }
      if (Chance(0.1)) ops_[forward.op].outputs.push_back(AddTensor(TensorRole::kBuffer));
      if (Chance(0.2)) ops_[forward.op].colocate = fmt::format("label {}", UniformInt(rng_, 2));
      forward_.push_back(std::move(forward));
      all_.insert(all_.end(), fresh.begin(), fresh.end());
    }
    arriving = fresh;
    if (all_.empty()) all_ = arriving;
  }

  void AddBackward(const Forward& forward) {
    if (Chance(0.1)) return;
    std::vector<int> inputs;
    for (int output : ops_[forward.op].outputs) {
      if (gradient_of_[output] >= 0) inputs.push_back(gradient_of_[output]);
      if (Chance(0.4) || inputs.empty()) inputs.push_back(output);
    }
    for (int each : forward.activations) {
      if (Chance(0.6)) inputs.push_back(each);
    }
    const int op = AddOp(fmt::format("layer{}/b{}", forward.layer, forward.number),
                         "test.b",
                         Phase::kBackward,
                         std::move(inputs));
    ops_[op].attributes = fmt::format(R"({{"forward_op":"{}"}})", ops_[forward.op].name);
    for (int each : forward.activations) {
      const int alias = Chance(0.2) ? ops_[op].inputs[0] : -1;
      gradient_of_[each] = AddTensor(TensorRole::kGradient, alias);
      ops_[op].outputs.push_back(gradient_of_[each]);
    }
    for (int weight : forward.weights) {
      gradients_[weight].push_back(AddTensor(TensorRole::kGradient));
      ops_[op].outputs.push_back(gradients_[weight].back());
    }
  }

  void AddUpdate(int weight) {
    if (gradients_[weight].empty()) return;
    std::vector<int> inputs = gradients_[weight];
    inputs.push_back(parameters_[weight]);
    const int op = AddOp(fmt::format("u{}", weight), "test.u", Phase::kUpdate, std::move(inputs));
    ops_[op].colocate = fmt::format("w{}", weight);
    ops_[op].outputs = {AddTensor(TensorRole::kParameter, parameters_[weight])};
  }

  void AddControls() {
    for (std::size_t op = 1; op < ops_.size(); ++op) {
      const int before = UniformInt(rng_, static_cast<int>(op));
      if (ops_[op].IsStorage() || ops_[before].phase > ops_[op].phase || !Chance(0.1)) continue;
      ops_[op].control_inputs = {before};
    }
  }

  Rng& rng_;
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<int> parameters_, gradient_of_, all_{0};
  std::vector<std::vector<int>> gradients_;  // [parameters]
  std::vector<Forward> forward_;
};

}  // namespace emplace::testing
