#include "framework/plan/recompute.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/base/json.h"

namespace emplace {
namespace {

/// Returns the layer of each op, -1 without one. [num_ops]
std::vector<int> LayerOfOp(const Graph& step, std::span<const std::string> layers) {
  std::vector<int> layer(step.num_ops(), -1);
  std::vector<bool> found(layers.size());
  for (int op = 0; op < step.num_ops(); ++op) {
    if (step.op(op).phase != Phase::kForward || step.op(op).IsStorage()) continue;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!MatchesGlob(layers[i], step.op(op).name)) continue;
      found[i] = true;
      if (layer[op] < 0) layer[op] = static_cast<int>(i);
    }
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (found[i]) continue;
    throw InputError(fmt::format(
        "{}: recompute: pattern {} matches no forward op", step.name(), QuoteJson(layers[i])));
  }
  return layer;
}

class Recomputation {
 public:
  Recomputation(const Graph& step, std::span<const std::string> layers)
      : step_(step),
        layer_(LayerOfOp(step, layers)),
        copied_(step.num_ops()),
        first_reader_(layers.size(), -1),
        position_(step.num_ops()) {
    for (int i = 0; i < step.num_ops(); ++i) position_[step.topological_order()[i]] = i;
    for (int tensor = 0; tensor < step.num_tensors(); ++tensor) FindInner(tensor);
    for (int i = step.num_ops() - 1; i >= 0; --i) FindCopied(step.topological_order()[i]);
  }

  PlannedGraph Build() {
    std::vector<std::vector<int>> before(step_.num_ops());  // ops whose copies stand before an op
    for (int op : step_.topological_order()) {
      if (copied_[op]) before[first_reader_[layer_[op]]].push_back(op);
    }
    std::vector<int> new_id(step_.num_ops(), -1);
    tensors_.assign(step_.tensors().begin(), step_.tensors().end());
    copy_of_tensor_.assign(step_.num_tensors(), -1);
    copy_of_op_.assign(step_.num_ops(), -1);
    for (int op = 0; op < step_.num_ops(); ++op) {
      for (int each : before[op]) AddCopy(each);
      new_id[op] = static_cast<int>(ops_.size());
      ops_.push_back(step_.op(op));
      origin_.push_back({PlannedRole::kCopy, op});
    }
    for (std::size_t i = 0; i < ops_.size(); ++i) Rewire(static_cast<int>(i), new_id);
    return {GraphLike(step_, std::move(tensors_), std::move(ops_)), std::move(origin_)};
  }

 private:
  bool OnlyReadInside(int tensor) const {
    const int layer = layer_[step_.tensor(tensor).producer];
    return std::ranges::all_of(step_.readers(tensor), [&](int reader) {
      return step_.op(reader).phase != Phase::kForward || layer_[reader] == layer;
    });
  }

  /// Returns true if an op may run twice: all of its results are its own.
  bool MayRepeat(int op) const {
    return std::ranges::all_of(step_.op(op).outputs, [&](int tensor) {
      for (int base = step_.tensor(tensor).alias_of; base >= 0;) {
        const int producer = step_.tensor(base).producer;
        if (producer < 0 || layer_[producer] != layer_[op]) return false;
        base = step_.tensor(base).alias_of;
      }
      const TensorRole role = step_.tensor(tensor).role;
      return role == TensorRole::kActivation || role == TensorRole::kGradient;
    });
  }

  void FindInner(int tensor) {
    inner_.push_back(false);
    const int producer = step_.tensor(tensor).producer;
    if (producer < 0 || layer_[producer] < 0 || !MayRepeat(producer)) return;
    if (!OnlyReadInside(tensor)) return;
    for (int reader : step_.readers(tensor)) {
      if (step_.op(reader).phase == Phase::kForward) continue;
      inner_.back() = true;
      int& first = first_reader_[layer_[producer]];
      if (first < 0 || position_[reader] < position_[first]) first = reader;
    }
  }

  /// Decides whether an op is copied, after all of its readers are decided.
  void FindCopied(int op) {
    if (layer_[op] < 0 || !MayRepeat(op)) return;
    for (int tensor : step_.op(op).outputs) {
      if (!OnlyReadInside(tensor)) continue;
      bool needed = inner_[tensor];
      for (int reader : step_.readers(tensor)) needed = needed || copied_[reader];
      if (needed) copied_[op] = true;
    }
  }

  void AddCopy(int op) {
    copy_of_op_[op] = static_cast<int>(ops_.size());
    Op copy = step_.op(op);
    copy.name = "recompute/" + copy.name;
    copy.phase = Phase::kBackward;
    for (int& output : copy.outputs) {
      copy_of_tensor_[output] = static_cast<int>(tensors_.size());
      tensors_.push_back(step_.tensor(output));
      output = copy_of_tensor_[output];
    }
    ops_.push_back(std::move(copy));
    origin_.push_back({PlannedRole::kRecompute, op});
  }

  /// Returns the tensor that stands for one in a copy of its layer or in a backward op.
  int Recomputed(int tensor) const {
    return copy_of_tensor_[tensor] >= 0 && OnlyReadInside(tensor) ? copy_of_tensor_[tensor]
                                                                  : tensor;
  }

  /// Translates the inputs, control inputs and aliases of a new op.
  void Rewire(int id, const std::vector<int>& new_id) {
    Op& op = ops_[id];
    const int old = origin_[id].op;
    const bool copy = origin_[id].role == PlannedRole::kRecompute;
    bool first = copy;  // no predecessor among the copies
    if (copy || op.phase != Phase::kForward) {
      for (int& input : op.inputs) {
        const int read = std::exchange(input, Recomputed(input));
        if (input != read) first = false;
      }
      for (int output : op.outputs) {
        int& alias = tensors_[output].alias_of;
        if (alias >= 0) alias = Recomputed(alias);
      }
    }
    std::vector<int> control;
    for (int each : op.control_inputs) {
      const bool inside = copy && copy_of_op_[each] >= 0 && layer_[each] == layer_[old];
      if (inside) first = false;
      control.push_back(inside ? copy_of_op_[each] : new_id[each]);
    }
    if (first) {
      for (int each : step_.predecessors(first_reader_[layer_[old]])) {
        if (step_.op(each).phase == Phase::kBackward) control.push_back(new_id[each]);
      }
      std::ranges::sort(control);
      control.erase(std::unique(control.begin(), control.end()), control.end());
    }
    op.control_inputs = std::move(control);
  }

  const Graph& step_;
  std::vector<int> layer_;
  std::vector<bool> copied_, inner_;
  std::vector<int> first_reader_;  // [layers] first op in topological order that reads an inner one
  std::vector<int> position_;      // in topological order
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<PlannedOp> origin_;
  std::vector<int> copy_of_tensor_, copy_of_op_;
};

}  // namespace

PlannedGraph Recompute(const Graph& step, std::span<const std::string> layers) {
  return Recomputation(step, layers).Build();
}

}  // namespace emplace
