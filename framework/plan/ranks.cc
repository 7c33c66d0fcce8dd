#include "framework/plan/ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/cluster/device_classes.h"
#include "framework/cost/op_kind.h"
#include "framework/graph/dtypes.h"
#include "framework/plan/collective_time.h"
#include "framework/plan/one_replica.h"
#include "framework/plan/plan_cluster.h"

namespace emplace {
namespace {

constexpr std::string_view kCollectives = "collective.";
const std::string kRanks = "ranks";  // kind of the added network devices
constexpr int kMaxSlots = 65536;     // of the reader of cluster files

bool IsRankCollective(const Op& op) {
  return op.kind.starts_with(kCollectives);
}

/// A call of a collective by rank 0.
struct RankCall {
  std::string name;        ///< of CollectiveNames()
  std::vector<int> ranks;  ///< of its group
  bool ahead = false;      ///< it need not wait for earlier ops of its device
  std::int64_t whole = 0;  ///< its output, of a reduce-scatter its input [B]

  std::int64_t part() const { return (whole + std::ssize(ranks) - 1) / std::ssize(ranks); }
};

/// @throws InputError
RankCall CallOf(const Graph& graph, const Op& op) {
  RankCall call{.name = op.kind.substr(kCollectives.size())};
  if (std::ranges::find(CollectiveNames(), call.name) == CollectiveNames().end()) {
    throw InputError(fmt::format("{}: op {}: kind: got {}; expected {}{} in a graph of ranks",
                                 graph.name(),
                                 QuoteJson(op.name),
                                 QuoteJson(op.kind),
                                 kCollectives,
                                 fmt::join(CollectiveNames(), fmt::format(", {}", kCollectives))));
  }
  const Json attributes = Json::parse(op.attributes, nullptr, false);
  std::set<int> different;
  if (attributes.is_object()) {
    call.ahead = attributes.value("ahead", Json()) == true;
    for (const Json& rank : attributes.value("ranks", Json::array())) {
      const bool valid = rank.is_number_integer() && rank >= 0 && rank < graph.ranks();
      call.ranks.push_back(valid ? rank.get<int>() : -1);
      if (valid) different.insert(call.ranks.back());
    }
  }
  if (different.empty() || different.size() != call.ranks.size() || op.outputs.empty()) {
    throw InputError(fmt::format(
        "{}: op {}: attributes.ranks: expected the ranks of its group, different numbers from 0 "
        "to {}, and an output",
        graph.name(),
        QuoteJson(op.name),
        graph.ranks() - 1));
  }
  for (int output : op.outputs) call.whole += graph.tensor(output).bytes;
  if (call.name == "reduce_scatter") call.whole *= std::ssize(call.ranks);
  return call;
}

std::vector<int> Divisors(int count) {
  std::vector<int> divisors;
  for (int i = 1; i <= count; ++i) {
    if (count % i == 0) divisors.push_back(i);
  }
  return divisors;
}

class RankTransfers {
 public:
  /// @param network  device of the all-reduces among replicas; empty: none
  RankTransfers(const PlannedGraph& planned, std::string network)
      : planned_(planned),
        network_(std::move(network)),
        graph_(planned.graph),
        tensors_(graph_.tensors().begin(), graph_.tensors().end()),
        carried_(graph_.num_ops()),
        first_reads_(graph_.num_ops()),
        received_(graph_.num_tensors(), -1),
        new_id_(graph_.num_ops()) {
    for (int op : graph_.topological_order()) {
      if (IsTransferred(op)) {
        carried_[op] = {op};
      } else if (IsFreeView(op)) {
        for (int before : graph_.predecessors(op)) Append(carried_[op], carried_[before]);
      } else if (planned_.ops[op].role != PlannedRole::kCollective) {
        for (int tensor : graph_.reads(op)) {
          if (!IsCarried(tensor) || received_[tensor] >= 0) continue;
          received_[tensor] = static_cast<int>(tensors_.size());
          tensors_.push_back(graph_.tensor(tensor));
          tensors_.back().alias_of = tensor;
          first_reads_[op].push_back(tensor);
        }
      }
    }
    int next = 0;
    for (int op = 0; op < graph_.num_ops(); ++op) {
      new_id_[op] = next + static_cast<int>(first_reads_[op].size());
      next = new_id_[op] + (IsTransferred(op) ? 2 : 1);
    }
  }

  PlannedGraph Build() {
    for (int op = 0; op < graph_.num_ops(); ++op) {
      for (int tensor : first_reads_[op]) AddReceived(tensor);
      AddCopy(op);
      if (IsTransferred(op)) AddTransfer(op);
    }
    return {Graph(graph_.name(),
                  std::move(tensors_),
                  std::move(ops_),
                  graph_.source(),
                  graph_.name(),
                  graph_.extra()),
            std::move(origin_)};
  }

 private:
  static void Append(std::vector<int>& to, const std::vector<int>& more) {
    to.insert(to.end(), more.begin(), more.end());
    std::ranges::sort(to);
    to.erase(std::unique(to.begin(), to.end()), to.end());
  }

  bool IsTransferred(int op) const {
    return planned_.ops[op].role != PlannedRole::kCollective && IsRankCollective(graph_.op(op));
  }

  /// Returns true for a view whose outputs are aliases and that takes no time.
  bool IsFreeView(int id) const {
    const Op& op = graph_.op(id);
    return !op.IsStorage() && ClassifyOp(op.kind) == OpClass::kView &&
           std::ranges::all_of(op.cost_ns, [](const auto& cost) { return cost.second == 0; }) &&
           std::ranges::all_of(op.outputs,
                               [&](int output) { return graph_.tensor(output).alias_of >= 0; });
  }

  bool IsCarried(int tensor) const {
    const int producer = graph_.tensor(tensor).producer;
    return producer >= 0 && !carried_[producer].empty();
  }

  std::vector<int> TransfersBefore(int op) const {
    std::vector<int> transfers;
    for (int collective : carried_[op]) transfers.push_back(new_id_[collective] + 1);
    return transfers;
  }

  void AddCopy(int id) {
    Op op = graph_.op(id);
    const bool reduction = planned_.ops[id].role == PlannedRole::kCollective;
    const bool waits = !IsTransferred(id) && !IsFreeView(id);
    std::vector<int> control;
    for (int before : op.control_inputs) {
      const bool carried = waits && !carried_[before].empty();
      if (carried) Append(control, TransfersBefore(before));
      if (!carried || !reduction) Append(control, {new_id_[before]});
    }
    op.control_inputs = std::move(control);
    for (int& input : op.inputs) {
      if (!waits || received_[input] < 0) continue;
      for (int output : op.outputs) {
        if (graph_.tensor(output).alias_of == input) tensors_[output].alias_of = received_[input];
      }
      input = received_[input];
    }
    if (reduction) op.devices = {network_};
    std::erase_if(op.cost_ns, [](const auto& cost) { return cost.first == kRanks; });
    if (IsLabelled(id)) op.colocate = LabelOf(id);
    ops_.push_back(std::move(op));
    origin_.push_back(planned_.ops[id]);
  }

  bool IsLabelled(int id) const {
    return std::ranges::any_of(graph_.op(id).outputs,
                               [&](int output) { return received_[output] >= 0; });
  }
  const std::string& LabelOf(int id) const {
    const Op& op = graph_.op(id);
    return op.colocate.empty() ? op.name : op.colocate;
  }

  void AddReceived(int tensor) {
    const int producer = graph_.tensor(tensor).producer;
    const Op& of = graph_.op(producer);
    Op op;
    op.name = "received/" + of.name;
    const auto place = std::ranges::find(of.outputs, tensor) - of.outputs.begin();
    if (place > 0) op.name += fmt::format("/{}", place);
    op.kind = "aten.alias";
    op.inputs = {tensor};
    op.outputs = {received_[tensor]};
    op.control_inputs = TransfersBefore(producer);
    op.phase = of.phase;
    op.colocate = LabelOf(producer);
    op.device_kinds = of.device_kinds;
    op.devices = of.devices;
    ops_.push_back(std::move(op));
    origin_.push_back(planned_.ops[producer]);
  }

  /// Adds the predecessors of an op to `sources`, and those of free views in place of the views.
  void AddSources(int op, std::vector<int>& sources) const {
    for (int before : graph_.predecessors(op)) {
      if (IsFreeView(before)) {
        AddSources(before, sources);
      } else {
        Append(sources, {new_id_[before]});
      }
    }
  }

  void AddTransfer(int id) {
    const Op& of = graph_.op(id);
    const RankCall call = CallOf(graph_, of);
    const int group = groups_.emplace(call.ranks, static_cast<int>(groups_.size())).first->second;
    Op op;
    op.name = "network/" + of.name;
    op.kind = of.kind;
    op.attributes = fmt::format("{{\"group_size\":{}}}", call.ranks.size());
    op.device_kinds = {"network"};
    op.devices = {RankDevice(group)};
    op.phase = of.phase;
    for (const auto& cost : of.cost_ns) {
      if (cost.first == kRanks) op.cost_ns = {cost};
    }
    for (const bool input : {true, false}) {
      Tensor tensor;
      tensor.dtype = graph_.tensor(of.outputs.front()).dtype;
      const bool part = call.name == (input ? "all_gather" : "reduce_scatter");
      tensor.bytes = part ? call.part() : call.whole;
      const Dtype* type = DtypeByName(tensor.dtype);
      if (type != nullptr && type->bits > 0) tensor.shape = {tensor.bytes * 8 / type->bits};
      if (input) tensor.role = TensorRole::kInput;
      (input ? op.inputs : op.outputs) = {static_cast<int>(tensors_.size())};
      tensors_.push_back(std::move(tensor));
    }
    if (call.ahead) {
      AddSources(id, op.control_inputs);
    } else {
      op.control_inputs = {new_id_[id]};
    }
    for (int before : graph_.predecessors(id)) Append(op.control_inputs, TransfersBefore(before));
    ops_.push_back(std::move(op));
    origin_.push_back(planned_.ops[id]);
    origin_.back().role = PlannedRole::kCollective;
    origin_.back().rank_group = group;
  }

  const PlannedGraph& planned_;
  const std::string network_;
  const Graph& graph_;
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<PlannedOp> origin_;
  std::vector<std::vector<int>> carried_;      // [ops] collectives whose results outputs have
  std::vector<std::vector<int>> first_reads_;  // [ops] carried tensors that no op read before
  std::vector<int> received_;                  // [tensors] what readers read instead; -1: itself
  std::vector<int> new_id_;                    // [ops]
  std::map<std::vector<int>, int> groups_;
};

}  // namespace

RankStep FirstRank(std::shared_ptr<const Graph> step, std::shared_ptr<const Cluster> cluster) {
  const int ranks = step->ranks();
  if (ranks == 1) return {std::move(step), std::move(cluster)};
  std::vector<int> devices = DevicesOfClass(*cluster, DeviceClass::kGpu);
  const char* device_class = devices.empty() ? "CPUs" : "GPUs";
  if (devices.empty()) devices = DevicesOfClass(*cluster, DeviceClass::kCpu);
  const int count = static_cast<int>(devices.size());
  if (count % ranks != 0) {
    throw InputError(
        fmt::format("{}: its {} ranks do not divide the {} {} of cluster \"{}\"; choices: {}",
                    step->name(),
                    ranks,
                    count,
                    device_class,
                    cluster->name(),
                    fmt::join(Divisors(count), ", ")));
  }
  std::vector<std::vector<int>> of_rank(ranks);
  for (int i = 0; i < count; ++i) of_rank[i % ranks].push_back(devices[i]);
  std::vector<int> kinds;
  for (const Device& device : cluster->devices()) kinds.push_back(device.kind);
  const std::string reason = ReplicasDiffer(*cluster, of_rank, kinds);
  if (!reason.empty()) {
    throw InputError(fmt::format(
        "{}: its {} ranks, on consecutive {} of cluster \"{}\", need equal devices, and routes "
        "that no two ranks share: {}",
        step->name(),
        ranks,
        device_class,
        cluster->name(),
        reason));
  }
  std::vector<std::pair<std::string, double>> free;
  for (int device : of_rank[0]) {
    const std::string& kind = cluster->kind_of(device).name;
    const auto known = [&](const auto& cost) { return cost.first == kind; };
    if (std::ranges::none_of(free, known)) free.emplace_back(kind, 0);
  }
  std::vector<Op> ops(step->ops().begin(), step->ops().end());
  std::map<std::vector<int>, std::vector<CollectiveTimes>> times;  // of each block, by ranks
  for (Op& op : ops) {
    if (!IsRankCollective(op)) continue;
    const RankCall call = CallOf(*step, op);
    op.device_kinds.clear();
    op.cost_ns = free;
    if (NetworkDevice(*cluster) >= 0) continue;
    std::vector<CollectiveTimes>& blocks = times[call.ranks];
    while (static_cast<int>(blocks.size()) < count / ranks) {
      const std::size_t block = blocks.size();
      std::vector<int> members;
      for (int rank : call.ranks) members.push_back(of_rank[rank][block]);
      blocks.emplace_back(*cluster, std::move(members));
    }
    Nanos slowest = 0;
    for (const CollectiveTimes& block : blocks) {
      slowest = std::max(slowest, block.Least(call.name, call.whole));
    }
    op.cost_ns.emplace_back(kRanks, static_cast<double>(slowest));
  }
  std::vector<Tensor> tensors(step->tensors().begin(), step->tensors().end());
  return {
      std::make_shared<const Graph>(GraphLike(*step, std::move(tensors), std::move(ops))),
      WithDevices(*cluster, of_rank[0], fmt::format("{} in blocks of {}", cluster->name(), ranks))};
}

std::string RankDevice(int group) {
  return fmt::format("{}:{}", kRanks, group);
}

PlannedStep AddRankCollectives(PlannedStep step) {
  if (step.planned.graph.ranks() == 1) return step;
  const int network = NetworkDevice(*step.cluster);
  step.planned =
      RankTransfers(step.planned, network < 0 ? "" : step.cluster->device(network).name).Build();
  std::vector<int> transfers;  // of each group
  std::string kind = kRanks;   // that of the cluster's own network device if it has the costs
  for (int id = 0; id < step.planned.graph.num_ops(); ++id) {
    const PlannedOp& op = step.planned.ops[id];
    if (op.rank_group < 0) continue;
    if (step.planned.graph.op(id).cost_ns.empty()) kind = step.cluster->kind_of(network).name;
    transfers.resize(std::max<std::size_t>(transfers.size(), op.rank_group + 1));
    ++transfers[op.rank_group];
  }
  for (std::size_t group = 0; group < transfers.size(); ++group) {
    const int slots = std::min(transfers[group], kMaxSlots);
    step.cluster = WithNetwork(*step.cluster, RankDevice(static_cast<int>(group)), kind, slots);
  }
  return step;
}

}  // namespace emplace
