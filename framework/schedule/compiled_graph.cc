#include "framework/schedule/compiled_graph.h"

#include <algorithm>
#include <unordered_map>

#include "framework/schedule/memory_plan.h"

namespace emplace {

CompiledGraph::CompiledGraph(const Graph& graph, std::span<const int> op_order)
    : num_ops(graph.num_ops()),
      op_at(op_order.begin(), op_order.end()),
      item_of(graph.num_tensors(), -1) {
  std::vector<int> position_of(num_ops), control_item(num_ops, -1);
  for (int position = 0; position < num_ops; ++position) position_of[op_at[position]] = position;

  const auto add_item = [&](int position, std::int64_t bytes, std::span<const int> reading_ops) {
    items.push_back({.bytes = bytes, .producer = position});
    for (int v : reading_ops) readers.push_back(position_of[v]);
    std::sort(readers.begin() + reader_begin.back(), readers.end());
    reader_begin.push_back(static_cast<int>(readers.size()));
    return num_items++;
  };

  std::unordered_map<int, int> class_of_root;  // tensor -> alias class
  const auto join_class = [&](int tensor, int item) {
    const int root = graph.alias_root(tensor);
    const auto [entry, is_new] =
        class_of_root.try_emplace(root, static_cast<int>(alias_classes.size()));
    if (is_new) {
      alias_classes.emplace_back();
      alias_classes.back().root_pinned = IsNeverReleased(graph.tensor(root));
    }
    items[item].alias_class = entry->second;
    AliasClass& joined = alias_classes[entry->second];
    if (tensor == root) {
      joined.root = item;
    } else {
      joined.members.push_back(item);
      joined.pins.push_back(IsNeverReleased(graph.tensor(tensor)));
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
        if (!IsNeverReleased(tensor)) items[item].released_bytes = tensor.bytes;
        own += tensor.bytes;
      }
    }
    own_bytes.push_back(own);
    if (!graph.control_readers(v).empty()) {
      control_item[v] = add_item(position, 0, graph.control_readers(v));
    }
    item_begin.push_back(num_items);
  }

  // An alias without producer is resident, so the buffer in which it lives is never released.
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

void CompiledGraph::AddResidentBytes(const std::uint8_t* device, std::int64_t* bytes) const {
  for (const Resident& resident : residents) bytes[device[resident.position]] += resident.bytes;
  for (size_t i = 0; i < input_bytes.size(); ++i) {
    std::uint64_t counted = 0;
    for (int r = input_begin[i]; r < input_begin[i + 1]; ++r) {
      const int d = device[input_readers[r]];
      if ((counted >> d & 1) == 0) bytes[d] += input_bytes[i];
      counted |= std::uint64_t{1} << d;
    }
  }
}

std::uint64_t CompiledGraph::PlaceAliases(const AliasClass& alias_class,
                                          const std::uint8_t* device,
                                          std::vector<int>& storage) const {
  const int root = alias_class.root;
  const int home = device[items[root].producer];
  const std::uint64_t root_readers = ReaderDevices(root, device);
  std::uint64_t pinned = alias_class.root_pinned ? std::uint64_t{1} << home : std::uint64_t{0};
  storage.resize(alias_class.members.size());
  for (size_t i = 0; i < alias_class.members.size(); ++i) {
    const int here = device[items[alias_class.members[i]].producer];
    storage[i] = root_readers >> here & 1 ? here : home;
    if (alias_class.pins[i]) pinned |= std::uint64_t{1} << storage[i];
  }
  return pinned;
}

}  // namespace emplace
