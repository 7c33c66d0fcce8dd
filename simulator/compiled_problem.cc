#include "simulator/compiled_problem.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/schedule/memory_plan.h"

namespace emplace {
namespace {

void CompileMachine(const Cluster& cluster, CompiledProblem& p, std::vector<Bandwidth>& rates) {
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceKind& kind = cluster.kind_of(d);
    p.gap.push_back(kind.gap);
    p.issue.push_back(kind.issue);
    p.launch.push_back(kind.launch);
    p.slots.push_back(cluster.device(d).slots);
    p.memory.push_back(cluster.device(d).memory);
    p.has_slots |= cluster.device(d).slots > 1;
    p.has_host |= kind.issue > 0 || kind.launch > 0;
  }
  for (const Channel& channel : cluster.channels()) {
    p.latency.push_back(channel.latency);
    p.channel_gap.push_back(channel.gap);
    p.broadcast.push_back(channel.broadcast);
    const auto known = std::find(rates.begin(), rates.end(), channel.bandwidth);
    p.rate.push_back(static_cast<int>(known - rates.begin()));
    if (known == rates.end()) rates.push_back(channel.bandwidth);
  }
  p.route_begin.push_back(0);
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      const auto route = from != to ? cluster.route(from, to) : std::span<const int>{};
      p.routes.insert(p.routes.end(), route.begin(), route.end());
      const bool direct = route.size() == 1 && !cluster.channel(route[0]).broadcast;
      p.direct_channel.push_back(direct ? route[0] : -1);
      p.route_begin.push_back(static_cast<int>(p.routes.size()));
    }
  }
}

}  // namespace

CompiledProblem::CompiledProblem(const Problem& problem, std::span<const int> op_order)
    : num_ops(problem.num_ops()),
      num_devices(problem.num_devices()),
      num_channels(problem.cluster().num_channels()),
      op_at(op_order.begin(), op_order.end()) {
  const Graph& graph = problem.graph();
  std::vector<Bandwidth> rates;
  CompileMachine(problem.cluster(), *this, rates);
  num_rates = static_cast<int>(rates.size());

  std::vector<int> position_of(num_ops), item_of(graph.num_tensors(), -1),
      control_item(num_ops, -1);
  for (int position = 0; position < num_ops; ++position) position_of[op_at[position]] = position;

  const auto add_item =
      [&](int position, std::int64_t item_bytes, std::span<const int> reading_ops) {
        items.push_back({.bytes = item_bytes, .producer = position});
        for (int v : reading_ops) readers.push_back(position_of[v]);
        std::sort(readers.begin() + reader_begin.back(), readers.end());
        reader_begin.push_back(static_cast<int>(readers.size()));
        for (const Bandwidth& rate_value : rates) wire.push_back(WireTime(item_bytes, rate_value));
        return num_items++;
      };

  std::unordered_map<int, int> class_of_root;  // tensor -> alias class
  const auto join_class = [&](int tensor, int item) {
    const int root = graph.alias_root(tensor);
    const auto [entry, is_new] =
        class_of_root.try_emplace(root, static_cast<int>(alias_classes.size()));
    if (is_new) {
      alias_classes.emplace_back();
      alias_classes.back().root_pinned =
          IsResident(graph.tensor(root)) || graph.tensor(root).role == TensorRole::kOutput;
    }
    items[item].alias_class = entry->second;
    AliasClass& joined = alias_classes[entry->second];
    if (tensor == root) {
      joined.root = item;
    } else {
      const Tensor& member = graph.tensor(tensor);
      joined.members.push_back(item);
      joined.pins.push_back(member.role == TensorRole::kOutput || IsResident(member));
    }
  };
  std::vector<bool> is_root(graph.num_tensors(), false);
  for (int t = 0; t < graph.num_tensors(); ++t) {
    if (graph.tensor(t).alias_of >= 0) is_root[graph.alias_root(t)] = true;
  }

  item_begin.push_back(0);
  reader_begin.push_back(0);
  std::vector<int> outputs;
  for (int position = 0; position < num_ops; ++position) {
    const int v = op_at[position];
    const Op& op = graph.op(v);
    group_at.push_back(problem.grouping().group_of(v));
    for (int d = 0; d < num_devices; ++d) cost.push_back(problem.costs().at(v, d));
    workspace.push_back(op.workspace_bytes);
    std::int64_t own = 0;
    outputs = op.outputs;
    std::sort(outputs.begin(), outputs.end());
    for (int t : outputs) {
      const Tensor& tensor = graph.tensor(t);
      const int item = item_of[t] = add_item(position, tensor.bytes, graph.readers(t));
      if (tensor.alias_of >= 0 || is_root[t]) join_class(t, item);
      if (tensor.alias_of >= 0) continue;
      if (IsResident(tensor)) {
        residents.push_back({position, tensor.bytes});
      } else {
        items[item].held = tensor.bytes;
        if (tensor.role != TensorRole::kOutput) items[item].released_bytes = tensor.bytes;
        own += tensor.bytes;
      }
    }
    own_bytes.push_back(own);
    if (!graph.control_readers(v).empty()) {
      control_item[v] = add_item(position, 0, graph.control_readers(v));
    }
    item_begin.push_back(num_items);
  }

  // A tensor without producer that aliases another one pins what it shares, as anything resident
  // does.
  for (int t = 0; t < graph.num_tensors(); ++t) {
    if (graph.tensor(t).producer >= 0 || graph.tensor(t).alias_of < 0) continue;
    const auto shared = class_of_root.find(graph.alias_root(t));
    if (shared != class_of_root.end()) alias_classes[shared->second].root_pinned = true;
  }

  read_begin.push_back(0);
  for (int position = 0; position < num_ops; ++position) {
    const int v = op_at[position];
    for (int t : graph.reads(v)) {
      if (item_of[t] >= 0) reads.push_back(item_of[t]);
    }
    std::vector<int> awaited = graph.op(v).control_inputs;
    std::sort(awaited.begin(), awaited.end());
    awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
    for (int before : awaited) reads.push_back(control_item[before]);
    read_begin.push_back(static_cast<int>(reads.size()));
  }

  input_begin.push_back(0);
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.producer >= 0 || tensor.alias_of >= 0 || tensor.bytes == 0) continue;
    for (int v : graph.readers(t)) input_readers.push_back(position_of[v]);
    input_begin.push_back(static_cast<int>(input_readers.size()));
    input_bytes.push_back(tensor.bytes);
  }
}

void CompiledProblem::AddResidentBytes(const std::uint8_t* device, std::int64_t* result) const {
  for (const Resident& resident : residents) result[device[resident.position]] += resident.bytes;
  for (size_t i = 0; i < input_bytes.size(); ++i) {
    std::uint64_t counted = 0;
    for (int r = input_begin[i]; r < input_begin[i + 1]; ++r) {
      const int d = device[input_readers[r]];
      if ((counted >> d & 1) == 0) result[d] += input_bytes[i];
      counted |= std::uint64_t{1} << d;
    }
  }
}

std::uint64_t PlaceAliases(const CompiledProblem& p,
                           const CompiledProblem::AliasClass& alias_class,
                           const std::uint8_t* device,
                           std::vector<int>& storage) {
  const int root = alias_class.root;
  const int home = device[p.items[root].producer];
  std::uint64_t root_readers = 0;
  for (int r = p.reader_begin[root]; r < p.reader_begin[root + 1]; ++r) {
    root_readers |= std::uint64_t{1} << device[p.readers[r]];
  }
  std::uint64_t pinned = alias_class.root_pinned ? std::uint64_t{1} << home : std::uint64_t{0};
  storage.resize(alias_class.members.size());
  for (size_t i = 0; i < alias_class.members.size(); ++i) {
    const int here = device[p.items[alias_class.members[i]].producer];
    storage[i] = root_readers >> here & 1 ? here : home;
    if (alias_class.pins[i]) pinned |= std::uint64_t{1} << storage[i];
  }
  return pinned;
}

}  // namespace emplace
