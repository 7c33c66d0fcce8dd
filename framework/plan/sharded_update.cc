#include "framework/plan/sharded_update.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

class ShardedUpdate {
 public:
  ShardedUpdate(const PlannedGraph& planned, int replicas)
      : planned_(planned),
        graph_(planned.graph),
        replicas_(replicas),
        buckets_(graph_.num_ops()),
        kept_(graph_.num_ops(), true) {
    for (int op = 0; op < graph_.num_ops(); ++op) {
      if (!IsReduction(op)) continue;
      const std::string& name = graph_.op(op).name;  // "all_reduce/B"
      const int bucket = std::stoi(name.substr(name.rfind('/') + 1));
      if (bucket >= std::ssize(reductions_)) reductions_.resize(bucket + 1, -1);
      reductions_[bucket] = op;
      buckets_[op] = {bucket};
    }
    EMPLACE_CHECK(std::ranges::find(reductions_, -1) == reductions_.end());
    for (int op : graph_.topological_order()) {
      if (graph_.op(op).phase == Phase::kUpdate) FindBuckets(op);
    }
    divided_.assign(reductions_.size(), true);
    for (bool changed = true; changed;) {  // an op that remains everywhere needs whole buckets
      changed = false;
      for (int op = 0; op < graph_.num_ops(); ++op) {
        if (graph_.op(op).phase != Phase::kUpdate || (Owner(op) >= 0 && IsDivided(op))) continue;
        for (int bucket : buckets_[op]) {
          changed |= divided_[bucket];
          divided_[bucket] = false;
        }
      }
    }
    for (int op = 0; op < graph_.num_ops(); ++op) {
      if (graph_.op(op).phase == Phase::kUpdate && IsDivided(op)) {
        kept_[op] = planned_.ops[op].replica == Owner(op);
      }
    }
    for (int op = 0; op < graph_.num_ops(); ++op) {
      const auto readers = graph_.successors(op);
      if (!graph_.op(op).IsStorage() || readers.empty()) continue;
      kept_[op] = std::ranges::any_of(readers, [&](int reader) { return kept_[reader]; });
    }
  }

  PlannedGraph Build() {
    tensor_of_.assign(graph_.num_tensors(), -1);
    for (int t = 0; t < graph_.num_tensors(); ++t) {
      const Tensor& tensor = graph_.tensor(t);
      if (tensor.producer >= 0 && !kept_[tensor.producer]) continue;
      tensor_of_[t] = static_cast<int>(tensors_.size());
      tensors_.push_back(tensor);
    }
    for (Tensor& tensor : tensors_) {
      if (tensor.alias_of >= 0) tensor.alias_of = tensor_of_[tensor.alias_of];
    }
    op_of_.assign(graph_.num_ops(), -1);
    int next = 0;
    for (int op = 0; op < graph_.num_ops(); ++op) {
      if (kept_[op]) op_of_[op] = next++;
    }
    for (int op = 0; op < graph_.num_ops(); ++op) {
      if (kept_[op]) AddKept(op);
    }
    for (std::size_t b = 0; b < reductions_.size(); ++b) {
      if (divided_[b]) AddGather(static_cast<int>(b));
    }
    return {GraphLike(graph_, std::move(tensors_), std::move(ops_)), std::move(origin_)};
  }

 private:
  bool IsReduction(int op) const { return planned_.ops[op].role == PlannedRole::kCollective; }

  void FindBuckets(int op) {
    for (int before : graph_.predecessors(op)) {
      if (graph_.op(before).phase != Phase::kUpdate && !IsReduction(before)) continue;
      buckets_[op].insert(buckets_[op].end(), buckets_[before].begin(), buckets_[before].end());
    }
    std::ranges::sort(buckets_[op]);
    buckets_[op].erase(std::unique(buckets_[op].begin(), buckets_[op].end()), buckets_[op].end());
  }

  /// Returns the replica of all buckets of an op, -1 for several replicas or no bucket.
  int Owner(int op) const {
    if (buckets_[op].empty()) return -1;
    const int owner = buckets_[op].front() % replicas_;
    const bool one =
        std::ranges::all_of(buckets_[op], [&](int bucket) { return bucket % replicas_ == owner; });
    return one ? owner : -1;
  }

  bool IsDivided(int op) const {
    return !buckets_[op].empty() &&
           std::ranges::all_of(buckets_[op], [&](int bucket) { return divided_[bucket]; });
  }

  static std::vector<std::pair<std::string, double>> Halved(
      std::vector<std::pair<std::string, double>> costs) {
    for (auto& [kind, cost] : costs) cost /= 2;
    return costs;
  }

  /// Returns a tensor of one of `replicas` parts of another one.
  Tensor Part(Tensor tensor) const {
    tensor.bytes = (tensor.bytes + replicas_ - 1) / replicas_;
    for (std::int64_t& extent : tensor.shape) extent = (extent + replicas_ - 1) / replicas_;
    return tensor;
  }

  void AddKept(int op) {
    Op kept = graph_.op(op);
    for (int& input : kept.inputs) input = tensor_of_[input];
    for (int& output : kept.outputs) output = tensor_of_[output];
    std::vector<int> control;
    for (int before : kept.control_inputs) {
      if (kept_[before]) control.push_back(op_of_[before]);
    }
    kept.control_inputs = std::move(control);
    if (IsReduction(op) && divided_[buckets_[op].front()]) {
      kept.name = fmt::format("reduce_scatter/{}", buckets_[op].front());
      kept.kind = "collective.reduce_scatter";
      kept.cost_ns = Halved(kept.cost_ns);
      kept.bytes_accessed = -1;
      Tensor& output = tensors_[kept.outputs.front()];
      output = Part(output);
    }
    ops_.push_back(std::move(kept));
    origin_.push_back(planned_.ops[op]);
  }

  void AddGather(int bucket) {
    const int reduction = reductions_[bucket];
    Op gather = graph_.op(reduction);
    gather.name = fmt::format("all_gather/{}", bucket);
    gather.kind = "collective.all_gather";
    gather.phase = Phase::kUpdate;
    gather.cost_ns = Halved(gather.cost_ns);
    gather.bytes_accessed = -1;
    Tensor whole = graph_.tensor(gather.inputs.front());
    gather.inputs = {static_cast<int>(tensors_.size())};
    tensors_.push_back(Part(whole));
    gather.outputs = {static_cast<int>(tensors_.size())};
    whole.role = TensorRole::kActivation;
    tensors_.push_back(std::move(whole));
    gather.control_inputs.clear();
    std::vector<int> all;  // ops of the bucket's update
    for (int op = 0; op < graph_.num_ops(); ++op) {
      const bool of_bucket = std::ranges::find(buckets_[op], bucket) != buckets_[op].end();
      if (!kept_[op] || IsReduction(op) || !of_bucket) continue;
      all.push_back(op_of_[op]);
      const bool updates = std::ranges::any_of(graph_.op(op).outputs, [&](int output) {
        return graph_.tensor(output).alias_of >= 0 &&
               graph_.tensor(graph_.alias_root(output)).role == TensorRole::kParameter;
      });
      if (updates) gather.control_inputs.push_back(op_of_[op]);
    }
    if (gather.control_inputs.empty()) gather.control_inputs = std::move(all);
    ops_.push_back(std::move(gather));
    origin_.push_back({PlannedRole::kCollective});
  }

  const PlannedGraph& planned_;
  const Graph& graph_;
  int replicas_;
  std::vector<int> reductions_;            // [buckets] ops
  std::vector<std::vector<int>> buckets_;  // [ops] that an op of the update depends on, ascending
  std::vector<bool> divided_;              // [buckets]
  std::vector<bool> kept_;                 // [ops]
  std::vector<int> tensor_of_, op_of_;     // new ids
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<PlannedOp> origin_;
};

}  // namespace

PlannedGraph ShardUpdate(const PlannedGraph& planned, int replicas) {
  return ShardedUpdate(planned, replicas).Build();
}

}  // namespace emplace
