#include "framework/schedule/transfer_plan.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

[[noreturn]] void ThrowMissingRoute(const Graph& graph,
                                    const Cluster& cluster,
                                    const Copy& copy,
                                    int destination) {
  const std::string what =
      copy.tensor == kControlTensor
          ? "a control edge"
          : fmt::format(
                "tensor {} \"{}\" ({} B)", copy.tensor, graph.tensor(copy.tensor).name, copy.bytes);
  throw InputError(
      fmt::format("cluster \"{}\": no route from \"{}\" to \"{}\", which op \"{}\" needs for {}",
                  cluster.name(),
                  cluster.device(copy.source).name,
                  cluster.device(destination).name,
                  graph.op(copy.producer).name,
                  what));
}

}  // namespace

std::vector<Copy> CopiesOf(const Graph& graph,
                           const Cluster& cluster,
                           std::span<const DeviceIndex> device_of_op,
                           int producer) {
  std::vector<Copy> copies;
  const int source = device_of_op[producer];

  const auto add_copies = [&](int tensor, std::int64_t bytes, std::span<const int> readers) {
    std::vector<bool> reads(cluster.num_devices(), false);
    for (int reader : readers) reads[device_of_op[reader]] = true;
    reads[source] = false;
    std::vector<std::pair<int, size_t>> shared;  // broadcast channel -> its copy
    for (int destination = 0; destination < cluster.num_devices(); ++destination) {
      if (!reads[destination]) continue;
      Copy copy{producer, tensor, bytes, source, {destination}};
      const auto route = cluster.route(source, destination);
      if (route.empty()) ThrowMissingRoute(graph, cluster, copy, destination);
      if (cluster.channel(route[0]).broadcast) {
        const auto known = std::find_if(shared.begin(), shared.end(), [&](const auto& entry) {
          return entry.first == route[0];
        });
        if (known != shared.end()) {
          copies[known->second].destinations.push_back(destination);
          continue;
        }
        shared.emplace_back(route[0], copies.size());
      }
      copies.push_back(std::move(copy));
    }
  };

  std::vector<int> outputs = graph.op(producer).outputs;
  std::sort(outputs.begin(), outputs.end());
  for (int tensor : outputs) add_copies(tensor, graph.tensor(tensor).bytes, graph.readers(tensor));
  add_copies(kControlTensor, 0, graph.control_readers(producer));
  return copies;
}

std::vector<Hop> HopsOf(const Cluster& cluster, std::span<const Copy> copies) {
  std::vector<std::tuple<int, int, int>> turns;  // tensor, destination, copy
  for (int i = 0; i < std::ssize(copies); ++i) {
    for (int d : copies[i].destinations) turns.emplace_back(copies[i].tensor, d, i);
  }
  std::ranges::sort(turns);
  std::vector<Hop> hops;
  std::vector<int> first_hop(copies.size(), -1);
  for (const auto& [tensor, destination, i] : turns) {
    const Copy& copy = copies[i];
    const auto route = cluster.route(copy.source, destination);
    const auto add = [&](int position, std::vector<int> destinations, int behind) {
      hops.push_back({i, position, route[position], std::move(destinations), behind});
      return static_cast<int>(hops.size()) - 1;
    };
    if (first_hop[i] < 0) first_hop[i] = add(0, copy.destinations, -1);
    int at = first_hop[i];
    for (int h = 1; h < std::ssize(route); ++h) at = add(h, {destination}, at);
  }
  return hops;
}

bool IsLocal(const Graph& graph,
             std::span<const DeviceIndex> device_of_op,
             int tensor,
             int device) {
  const int producer = graph.tensor(tensor).producer;
  return producer < 0 || device_of_op[producer] == device;
}

std::vector<int> ColdReads(const Graph& graph, std::span<const DeviceIndex> device_of_op, int op) {
  std::vector<int> tensors;
  const DeviceIndex here = device_of_op[op];
  for (const int t : graph.reads(op)) {
    if (IsLocal(graph, device_of_op, t, here)) continue;
    const bool is_first = std::ranges::none_of(
        graph.readers(t), [&](int reader) { return reader < op && device_of_op[reader] == here; });
    if (is_first) tensors.push_back(t);
  }
  std::ranges::sort(tensors);
  return tensors;
}

}  // namespace emplace
