#include "framework/plan/micro_batches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/plan/forward_op.h"

namespace emplace {
namespace {

class MicroBatches {
 public:
  MicroBatches(const PlannedGraph& step, int count)
      : step_(step),
        graph_(step.graph),
        count_(count),
        op_of_(count, std::vector<int>(graph_.num_ops(), -1)),
        tensor_of_(count, std::vector<int>(graph_.num_tensors(), -1)),
        sum_of_(graph_.num_tensors(), -1) {
    for (int op = 0; op < graph_.num_ops(); ++op) attributes_.emplace_back(graph_.op(op));
    RequireOrder();
    CopyTensors();
  }

  PlannedGraph Build() {
    const auto order = graph_.topological_order();
    std::size_t next = 0;
    while (next < order.size() && !IsCopied(order[next])) AddOnce(order[next++]);
    const std::vector<int> rest(order.begin() + static_cast<std::ptrdiff_t>(next), order.end());
    for (int op : rest) {
      if (IsFreeStorage(op)) AddOnce(op);
    }
    for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
      for (int m = 0; m < count_; ++m) {
        for (int op : rest) {
          if (IsCopied(op) && graph_.op(op).phase == phase) AddCopy(op, m);
        }
      }
    }
    for (int op : rest) {
      if (!IsCopied(op) && !IsFreeStorage(op)) AddOnce(op);
    }
    return {GraphLike(graph_, std::move(tensors_), std::move(ops_)), std::move(origin_)};
  }

 private:
  bool IsFreeStorage(int op) const {
    return graph_.op(op).IsStorage() && graph_.predecessors(op).empty();
  }

  bool IsCopied(int op) const {
    return graph_.op(op).phase != Phase::kUpdate && !IsFreeStorage(op);
  }

  bool IsGradient(int tensor) const {
    const int producer = graph_.tensor(tensor).producer;
    return producer >= 0 && IsCopied(producer) &&
           std::ranges::any_of(graph_.readers(tensor), [&](int op) { return !IsCopied(op); });
  }

  /// @throws InputError
  void RequireOrder() const {
    for (int op = 0; op < graph_.num_ops(); ++op) {
      for (int before : graph_.predecessors(op)) {
        const bool backwards =
            graph_.op(op).phase == Phase::kForward && graph_.op(before).phase == Phase::kBackward;
        if (!IsCopied(op) || IsFreeStorage(before)) continue;
        if (IsCopied(before) && !backwards) continue;
        throw InputError(fmt::format(
            "{}: op {} of phase {} depends on op {} of phase {}; micro-batches need the forward "
            "pass before the backward pass, and both before the update",
            graph_.name(),
            QuoteJson(graph_.op(op).name),
            ToString(graph_.op(op).phase),
            QuoteJson(graph_.op(before).name),
            ToString(graph_.op(before).phase)));
      }
    }
  }

  void CopyTensors() {
    std::vector<bool> copied(graph_.num_tensors());
    for (int t = 0; t < graph_.num_tensors(); ++t) {
      const Tensor& tensor = graph_.tensor(t);
      copied[t] =
          tensor.producer >= 0
              ? IsCopied(tensor.producer)
              : tensor.role == TensorRole::kInput &&
                    std::ranges::all_of(graph_.readers(t), [&](int op) { return IsCopied(op); });
      for (int m = 0; m < (copied[t] ? count_ : 1); ++m) {
        tensor_of_[m][t] = static_cast<int>(tensors_.size());
        tensors_.push_back(tensor);
      }
      for (int m = 1; m < count_ && !copied[t]; ++m) tensor_of_[m][t] = tensor_of_[0][t];
      sum_of_[t] = tensor_of_[0][t];
    }
    for (int m = 0; m < count_; ++m) {
      for (int t = 0; t < graph_.num_tensors(); ++t) {
        const int alias = graph_.tensor(t).alias_of;
        if (alias >= 0 && (m == 0 || copied[t])) {
          tensors_[tensor_of_[m][t]].alias_of = tensor_of_[m][alias];
        }
      }
    }
  }

  void AddOnce(int op) {
    Op once = graph_.op(op);
    for (int& input : once.inputs) input = sum_of_[input];
    for (int& output : once.outputs) {
      const int alias = graph_.tensor(output).alias_of;
      output = tensor_of_[0][output];
      if (alias >= 0) tensors_[output].alias_of = sum_of_[alias];
    }
    std::vector<int> control;
    for (int each : once.control_inputs) {
      if (!IsCopied(each)) {
        control.push_back(op_of_[0][each]);
        continue;
      }
      for (int m = 0; m < count_; ++m) control.push_back(op_of_[m][each]);
    }
    once.control_inputs = std::move(control);
    for (int m = 0; m < count_; ++m) op_of_[m][op] = static_cast<int>(ops_.size());
    ops_.push_back(std::move(once));
    origin_.push_back(step_.ops[op]);
  }

  void AddCopy(int op, int m) {
    const std::string prefix = fmt::format("m{}/", m);
    Op copy = graph_.op(op);
    copy.name = prefix + copy.name;
    if (copy.colocate.empty()) copy.colocate = graph_.op(op).name;
    copy.attributes = attributes_[op].WithPrefix(prefix);
    for (int& input : copy.inputs) input = tensor_of_[m][input];
    for (int& output : copy.outputs) output = tensor_of_[m][output];
    for (int& each : copy.control_inputs) each = op_of_[m][each];
    op_of_[m][op] = static_cast<int>(ops_.size());
    ops_.push_back(std::move(copy));
    origin_.push_back(step_.ops[op]);
    origin_.back().micro_batch = m;
    if (m == 0) return;
    int further = 0;
    for (int output : graph_.op(op).outputs) {
      if (IsGradient(output)) AddSum(op, m, output, further++);
    }
  }

  void AddSum(int op, int m, int gradient, int further) {
    const Tensor& tensor = graph_.tensor(gradient);
    Op sum;
    sum.name = fmt::format("m{}/accumulate/{}", m, graph_.op(op).name);
    if (further > 0) sum.name += fmt::format("/{}", further);
    sum.kind = "aten.add";
    sum.inputs = {sum_of_[gradient], tensor_of_[m][gradient]};
    sum.outputs = {static_cast<int>(tensors_.size())};
    std::int64_t elements = 1;
    for (std::int64_t size : tensor.shape) elements *= size;
    sum.flops = static_cast<double>(elements);
    sum.phase = Phase::kBackward;
    sum.colocate = graph_.op(op).colocate.empty() ? graph_.op(op).name : graph_.op(op).colocate;
    sum.device_kinds = graph_.op(op).device_kinds;
    sum.devices = graph_.op(op).devices;
    Tensor result = tensor;
    result.alias_of = sum_of_[gradient];
    tensors_.push_back(std::move(result));
    sum_of_[gradient] = sum.outputs[0];
    ops_.push_back(std::move(sum));
    origin_.push_back({PlannedRole::kAccumulate, step_.ops[op].op, m, -1});
  }

  const PlannedGraph& step_;
  const Graph& graph_;
  int count_;
  std::vector<ForwardOpAttribute> attributes_;       // [ops]
  std::vector<std::vector<int>> op_of_, tensor_of_;  // [micro-batches][ops or tensors] new ids
  std::vector<int> sum_of_;  // [tensors] the sum so far of a gradient; else the only copy
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<PlannedOp> origin_;
};

}  // namespace

PlannedGraph CopyMicroBatches(const PlannedGraph& step, int count) {
  if (count < 1) throw InputError(fmt::format("expected at least 1 micro-batch, got {}", count));
  if (count == 1) return step;
  return MicroBatches(step, count).Build();
}

}  // namespace emplace
