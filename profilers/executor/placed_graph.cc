#include "profilers/executor/placed_graph.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {

CopyLayout LayoutOfCopy(const TensorView& view) {
  CopyLayout layout{.source = view, .received = ContiguousView(view.dtype, view.shape)};
  std::vector<size_t> wide;  // dimensions whose strides matter
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1) wide.push_back(i);
  }
  const auto stride = [&](size_t i) { return view.strides[i]; };
  if (std::ranges::any_of(wide, [&](size_t i) { return stride(i) == 0; })) return layout;

  std::vector<size_t> sorted = wide;
  std::ranges::stable_sort(sorted, std::greater{}, stride);
  for (size_t i = 0; i < wide.size(); ++i) {
    layout.source.shape[wide[i]] = view.shape[sorted[i]];
    layout.source.strides[wide[i]] = view.strides[sorted[i]];
  }
  const TensorView packed = ContiguousView(view.dtype, layout.source.shape);
  for (size_t i = 0; i < wide.size(); ++i) {
    layout.received.strides[sorted[i]] = packed.strides[wide[i]];
  }
  return layout;
}

TensorView SentLayout(const PlacedGraph& placed, int tensor) {
  const TensorView layout = LayoutOf(placed.graph, tensor, placed.layouts);
  const std::int64_t bytes = placed.graph.tensor(tensor).bytes;
  if (layout.num_elements() * SizeOf(layout.dtype) == bytes) return layout;
  return ContiguousView(DType::kBool, {bytes});
}

PlacedGraph PlaceGraph(const Problem& problem,
                       std::span<const DeviceIndex> device_of_op,
                       std::span<const CarriedCopy> copies) {
  const Graph& graph = problem.graph();
  std::map<std::pair<int, int>, int> received;
  for (const CarriedCopy& carried : copies) {
    if (carried.copy.tensor == kControlTensor) continue;
    for (int d : carried.copy.destinations) received[{carried.copy.tensor, d}] = -1;
  }
  std::vector<Tensor> tensors(graph.tensors().begin(), graph.tensors().end());
  for (auto& [place, id] : received) {
    Tensor copy = tensors[place.first];
    copy.role = TensorRole::kActivation;
    copy.alias_of = copy.producer = -1;
    id = static_cast<int>(tensors.size());
    tensors.push_back(std::move(copy));
  }
  std::vector<Op> ops(graph.ops().begin(), graph.ops().end());
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int d = device_of_op[v];
    for (int& t : ops[v].inputs) {
      if (!IsLocal(graph, device_of_op, t, d)) t = received.at({t, d});
    }
    for (int t : ops[v].outputs) {
      int& alias_of = tensors[t].alias_of;
      if (alias_of < 0 || IsLocal(graph, device_of_op, alias_of, d)) continue;
      if (!std::ranges::binary_search(graph.reads(v), alias_of)) {
        const Cluster& cluster = problem.cluster();
        throw InputError(
            fmt::format("placement: op \"{}\" ({}) on device \"{}\" makes an alias of tensor {} "
                        "\"{}\" on device \"{}\" without reading it; place them together",
                        ops[v].name,
                        ops[v].kind,
                        cluster.device(d).name,
                        alias_of,
                        graph.tensor(alias_of).name,
                        cluster.device(device_of_op[graph.tensor(alias_of).producer]).name));
      }
      alias_of = received.at({alias_of, d});
    }
  }
  PlacedGraph placed{.graph = {graph.name(), std::move(tensors), std::move(ops), "", graph.name()},
                     .received = std::move(received),
                     .layouts = {}};
  // The copied tensor may be a view of a tensor that was received before.
  for (const CarriedCopy& carried : copies) {
    const int tensor = carried.copy.tensor;
    if (tensor == kControlTensor) continue;
    const TensorView layout = LayoutOfCopy(SentLayout(placed, tensor)).received;
    if (layout.is_contiguous()) continue;
    for (int d : carried.copy.destinations) {
      placed.layouts[placed.received.at({tensor, d})] = layout;
    }
  }
  return placed;
}

}  // namespace emplace
