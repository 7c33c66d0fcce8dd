#include "framework/plan/replicas.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/base/json.h"
#include "framework/graph/dtypes.h"
#include "framework/plan/forward_op.h"

namespace emplace {
namespace {

/// Returns true for a tensor that the forward or backward pass makes and the update reads.
bool IsGradient(const Graph& graph, int tensor) {
  const int producer = graph.tensor(tensor).producer;
  if (producer < 0) return false;
  const Op& op = graph.op(producer);
  if (op.phase == Phase::kUpdate || op.IsStorage()) return false;
  return std::ranges::any_of(graph.readers(tensor),
                             [&](int reader) { return graph.op(reader).phase == Phase::kUpdate; });
}

/// Returns the devices that the copy of an op may run on: those of `allowed` that the op's own
/// patterns match.
std::vector<std::string> DevicesOf(const Op& op,
                                   const std::vector<std::string>& allowed,
                                   const std::string& graph) {
  if (op.devices.empty()) return allowed;
  std::vector<std::string> devices;
  for (const std::string& device : allowed) {
    const bool named = std::ranges::any_of(
        op.devices, [&](const std::string& pattern) { return MatchesGlob(pattern, device); });
    if (named) devices.push_back(device);
  }
  if (!devices.empty()) return devices;
  throw InputError(fmt::format("{}: op {}: devices: none of [{}] is among those of a replica: {}",
                               graph,
                               QuoteJson(op.name),
                               fmt::join(op.devices, ", "),
                               fmt::join(allowed, ", ")));
}

class Replicas {
 public:
  /// @param tree  reduces every gradient by ops
  Replicas(const PlannedGraph& step, std::size_t replicas, Copies copies, bool tree)
      : step_(step),
        graph_(step.graph),
        copies_(copies),
        group_size_(static_cast<int>(replicas)),
        count_(copies == Copies::kFirst ? 1 : group_size_),
        op_of_(count_, std::vector<int>(graph_.num_ops(), -1)),
        buckets_of_(graph_.num_ops()),
        first_sum_(graph_.num_tensors(), -1) {
    for (int r = 0; r < count_; ++r) {
      for (const Tensor& tensor : graph_.tensors()) {
        tensors_.push_back(tensor);
        if (tensor.alias_of >= 0) tensors_.back().alias_of = NewTensor(tensor.alias_of, r);
      }
    }
    for (int distance = 1; tree && distance < count_; distance *= 2) {
      for (int r = 0; r + distance < count_; r += 2 * distance) sums_.emplace_back(r, r + distance);
    }
    for (int t = 0; !sums_.empty() && t < graph_.num_tensors(); ++t) {
      if (!IsGradient(graph_, t)) continue;
      first_sum_[t] = static_cast<int>(tensors_.size());
      std::vector<int> so_far(count_);
      for (int r = 0; r < count_; ++r) so_far[r] = NewTensor(t, r);
      for (const auto& [r, other] : sums_) {
        Tensor sum = tensors_[NewTensor(t, r)];
        sum.alias_of = std::exchange(so_far[r], static_cast<int>(tensors_.size()));
        tensors_.push_back(std::move(sum));
      }
    }
  }

  PlannedGraph Build(std::span<const std::vector<std::string>> devices,
                     std::span<const Bucket> buckets,
                     std::span<const std::vector<std::pair<std::string, double>>> cost_ns) {
    std::vector<std::vector<int>> after(graph_.num_ops());
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      after[buckets[b].after].push_back(static_cast<int>(b));
      for (int tensor : buckets[b].tensors) {
        for (int reader : graph_.readers(tensor)) {
          if (graph_.op(reader).phase != Phase::kUpdate) continue;
          buckets_of_[reader].push_back(static_cast<int>(b));
        }
      }
    }
    // The new ids follow the order of the ids in the graph, which need not be topological.
    std::vector<int> collective(buckets.size());
    int next = 0;
    for (int op = 0; op < graph_.num_ops(); ++op) {
      for (int r = 0; r < count_; ++r) op_of_[r][op] = next++;
      for (int b : after[op]) collective[b] = next++;
      next += static_cast<int>(ReducedBy(op).size()) * (count_ - 1);
    }
    for (int op = 0; op < graph_.num_ops(); ++op) {
      const ForwardOpAttribute attributes(graph_.op(op));
      for (int r = 0; r < count_; ++r) {
        std::vector<std::string> allowed = DevicesOf(graph_.op(op), devices[r], graph_.name());
        if (copies_ == Copies::kFirst && allowed.size() == devices[r].size()) allowed.clear();
        AddCopy(op, r, std::move(allowed), attributes, collective);
      }
      for (int b : after[op]) {
        AddCollective(b, buckets[b], cost_ns.empty() ? NoCost() : cost_ns[b]);
      }
      int further = 0;
      for (int gradient : ReducedBy(op)) AddTree(op, gradient, further++);
    }
    return {GraphLike(graph_, std::move(tensors_), std::move(ops_)), std::move(origin_)};
  }

 private:
  static const std::vector<std::pair<std::string, double>>& NoCost() {
    static const std::vector<std::pair<std::string, double>> none;
    return none;
  }

  int NewTensor(int tensor, int replica) const { return replica * graph_.num_tensors() + tensor; }

  /// Returns the outputs of an op that are reduced by ops.
  std::vector<int> ReducedBy(int op) const {
    std::vector<int> gradients;
    for (int output : graph_.op(op).outputs) {
      if (first_sum_[output] >= 0) gradients.push_back(output);
    }
    return gradients;
  }

  /// Returns the tensor that the copy of an op reads for an input.
  int NewInput(const Op& op, int tensor, int replica) const {
    const bool reduced = first_sum_[tensor] >= 0 && op.phase == Phase::kUpdate;
    return reduced ? first_sum_[tensor] + static_cast<int>(sums_.size()) - 1
                   : NewTensor(tensor, replica);
  }

  void AddTree(int op, int gradient, int further) {
    std::vector<int> sum(count_);  // of each replica so far
    for (int r = 0; r < count_; ++r) sum[r] = NewTensor(gradient, r);
    double elements = 1;
    for (std::int64_t extent : graph_.tensor(gradient).shape) {
      elements *= static_cast<double>(extent);
    }
    int next = first_sum_[gradient];
    for (const auto& [r, other] : sums_) {
      const Op& producer = ops_[op_of_[r][op]];
      Op add;
      add.name = fmt::format("r{}/reduce/{}/{}", r, other - r, graph_.op(op).name);
      if (further > 0) add.name += fmt::format("/{}", further);
      add.kind = "aten.add";
      add.inputs = {sum[r], sum[other]};
      sum[r] = next++;
      add.outputs = {sum[r]};
      add.flops = elements;
      add.phase = Phase::kBackward;
      add.colocate = producer.colocate;
      add.device_kinds = producer.device_kinds;
      add.devices = producer.devices;
      ops_.push_back(std::move(add));
      origin_.push_back(step_.ops[op]);
      origin_.back().role = PlannedRole::kAccumulate;
      origin_.back().replica = r;
    }
  }

  void AddCopy(int op,
               int r,
               std::vector<std::string> devices,
               const ForwardOpAttribute& attributes,
               const std::vector<int>& collective) {
    Op copy = graph_.op(op);
    copy.devices = std::move(devices);
    if (count_ > 1) {
      const std::string prefix = fmt::format("r{}/", r);
      copy.name = prefix + copy.name;
      if (!copy.colocate.empty()) copy.colocate = prefix + copy.colocate;
      copy.attributes = attributes.WithPrefix(prefix);
      if (copy.colocate.empty() && !ReducedBy(op).empty()) copy.colocate = copy.name;
    }
    for (int& input : copy.inputs) input = NewInput(copy, input, r);
    for (int& output : copy.outputs) output = NewTensor(output, r);
    for (int& each : copy.control_inputs) each = op_of_[r][each];
    std::vector<int> buckets = buckets_of_[op];
    std::ranges::sort(buckets);
    buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
    for (int b : buckets) copy.control_inputs.push_back(collective[b]);
    ops_.push_back(std::move(copy));
    origin_.push_back(step_.ops[op]);
    origin_.back().replica = r;
  }

  void AddCollective(int number,
                     const Bucket& bucket,
                     const std::vector<std::pair<std::string, double>>& cost_ns) {
    Op op;
    op.name = fmt::format("all_reduce/{}", number);
    op.kind = "collective.all_reduce";
    op.attributes = fmt::format("{{\"group_size\":{}}}", group_size_);
    op.device_kinds = {"network"};
    op.phase = Phase::kBackward;
    op.cost_ns = cost_ns;
    Tensor tensor;
    tensor.dtype = graph_.tensor(bucket.tensors.front()).dtype;
    tensor.bytes = bucket.bytes;
    const Dtype* type = DtypeByName(tensor.dtype);
    if (type != nullptr && type->bits > 0) tensor.shape = {bucket.bytes * 8 / type->bits};
    tensor.role = TensorRole::kInput;
    op.inputs = {static_cast<int>(tensors_.size())};
    tensors_.push_back(tensor);
    tensor.role = TensorRole::kGradient;
    op.outputs = {static_cast<int>(tensors_.size())};
    tensors_.push_back(std::move(tensor));
    for (int each : bucket.tensors) {
      for (int r = 0; r < count_; ++r) {
        op.control_inputs.push_back(op_of_[r][graph_.tensor(each).producer]);
      }
    }
    std::ranges::sort(op.control_inputs);
    op.control_inputs.erase(std::unique(op.control_inputs.begin(), op.control_inputs.end()),
                            op.control_inputs.end());
    ops_.push_back(std::move(op));
    origin_.push_back({PlannedRole::kCollective});
  }

  const PlannedGraph& step_;
  const Graph& graph_;
  Copies copies_;
  int group_size_, count_;                    // replicas, and those that are copied
  std::vector<std::vector<int>> op_of_;       // [replicas][ops] new ids
  std::vector<std::vector<int>> buckets_of_;  // [ops] buckets that an op of the update reads
  std::vector<std::pair<int, int>> sums_;  // of the tree: the replica that adds, and the other one
  std::vector<int> first_sum_;             // [tensors] of the tree; -1: not reduced by ops
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<PlannedOp> origin_;
};

}  // namespace

std::vector<Bucket> GradientBuckets(const Graph& graph,
                                    const Grouping& together,
                                    std::int64_t most_bytes) {
  std::vector<Bucket> buckets;
  int open = -1;  // group of the last bucket's producers
  for (int op : graph.topological_order()) {
    for (int tensor : graph.op(op).outputs) {
      if (!IsGradient(graph, tensor)) continue;
      const std::int64_t bytes = graph.tensor(tensor).bytes;
      const int group = together.group_of(op);
      const bool joins =
          group == open && most_bytes > 0 && buckets.back().bytes + bytes <= most_bytes &&
          graph.tensor(buckets.back().tensors[0]).dtype == graph.tensor(tensor).dtype;
      if (!joins) buckets.emplace_back();
      open = group;
      buckets.back().tensors.push_back(tensor);
      buckets.back().bytes += bytes;
      buckets.back().after = std::max(buckets.back().after, op);
    }
  }
  return buckets;
}

PlannedGraph Replicate(const PlannedGraph& step,
                       std::span<const std::vector<std::string>> devices,
                       std::span<const Bucket> buckets,
                       std::span<const std::vector<std::pair<std::string, double>>> cost_ns,
                       Copies copies) {
  if (devices.size() == 1) buckets = {};
  return Replicas(step, devices.size(), copies, false).Build(devices, buckets, cost_ns);
}

PlannedGraph ReplicateByTree(const PlannedGraph& step,
                             std::span<const std::vector<std::string>> devices) {
  return Replicas(step, devices.size(), Copies::kAll, true).Build(devices, {}, {});
}

}  // namespace emplace
