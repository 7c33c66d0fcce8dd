#include "agents/shared/partition_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "agents/shared/devices.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

/// Scales the values so that their sum is about kWeightSum at most; smaller sums are not scaled.
std::vector<std::int32_t> Scale(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const double factor = sum > kWeightSum ? kWeightSum / sum : 1;
  std::vector<std::int32_t> scaled;
  scaled.reserve(values.size());
  for (double value : values) {
    scaled.push_back(std::max(1, static_cast<std::int32_t>(std::lround(value * factor))));
  }
  return scaled;
}

/// Returns the candidate device that shares the most bytes with `group`; ties go to the least
/// loaded device, then to the first.
int Attract(const Problem& problem,
            int group,
            std::uint64_t candidates,
            const std::vector<int>& device,
            const std::vector<double>& load) {
  std::vector<std::int64_t> bytes(problem.num_devices(), 0);
  for (const Problem::Edge& edge : problem.neighbors(group)) {
    if (device[edge.neighbor] >= 0) bytes[device[edge.neighbor]] += edge.bytes;
  }
  int best = FirstDevice(candidates);
  for (std::uint64_t m = candidates; m != 0; m &= m - 1) {
    const int d = FirstDevice(m);
    if (bytes[d] > bytes[best] || (bytes[d] == bytes[best] && load[d] < load[best])) best = d;
  }
  return best;
}

}  // namespace

PartitionGraph MakePartitionGraph(const Problem& problem, std::uint64_t devices) {
  PartitionGraph graph;
  std::vector<int> vertex_of(problem.num_groups(), -1);
  for (int group = 0; group < problem.num_groups(); ++group) {
    if (!(problem.allowed_devices(group) & devices)) continue;
    vertex_of[group] = graph.size();
    graph.group.push_back(group);
    graph.cost.push_back(MeanCost(problem, group, devices));
  }
  std::vector<double> bytes;
  graph.offsets.push_back(0);
  for (int group : graph.group) {
    for (const Problem::Edge& edge : problem.neighbors(group)) {
      if (vertex_of[edge.neighbor] < 0) continue;
      graph.neighbors.push_back(vertex_of[edge.neighbor]);
      bytes.push_back(static_cast<double>(edge.bytes));
    }
    graph.offsets.push_back(static_cast<std::int32_t>(graph.neighbors.size()));
  }
  graph.vertex_weight = Scale(graph.cost);
  graph.edge_weight = Scale(bytes);
  const auto carrying = std::count_if(bytes.begin(), bytes.end(), [](double b) { return b > 0; });
  if (carrying > 0) {
    graph.mean_edge_bytes =
        std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(carrying);
  }
  return graph;
}

PartitionGraph Subgraph(const PartitionGraph& graph, const std::vector<int>& vertices) {
  PartitionGraph below;
  std::vector<int> index(graph.size(), -1);
  for (std::size_t i = 0; i < vertices.size(); ++i) index[vertices[i]] = static_cast<int>(i);
  below.offsets.push_back(0);
  below.mean_edge_bytes = graph.mean_edge_bytes;
  for (int v : vertices) {
    below.group.push_back(graph.group[v]);
    below.cost.push_back(graph.cost[v]);
    below.vertex_weight.push_back(graph.vertex_weight[v]);
    for (std::int32_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      if (index[graph.neighbors[e]] < 0) continue;
      below.neighbors.push_back(index[graph.neighbors[e]]);
      below.edge_weight.push_back(graph.edge_weight[e]);
    }
    below.offsets.push_back(static_cast<std::int32_t>(below.neighbors.size()));
  }
  return below;
}

Placement RepairPartition(const Problem& problem,
                          const PartitionGraph& graph,
                          const std::vector<int>& devices,
                          const std::vector<std::int32_t>& part) {
  EMPLACE_CHECK(part.size() == graph.group.size());
  const std::uint64_t mask = MaskOf(devices);
  std::vector<int> device(problem.num_groups(), -1);
  std::vector<double> load(problem.num_devices(), 0);
  const auto put = [&](int group, int d) {
    device[group] = d;
    load[d] += static_cast<double>(problem.group_cost(group, d));
  };
  std::vector<int> misplaced, elsewhere;
  for (int v = 0; v < graph.size(); ++v) {
    const int group = graph.group[v];
    EMPLACE_CHECK(part[v] >= 0 && part[v] < static_cast<int>(devices.size()));
    if (problem.allowed(group, devices[part[v]])) {
      put(group, devices[part[v]]);
    } else {
      misplaced.push_back(v);
    }
  }
  std::stable_sort(misplaced.begin(), misplaced.end(), [&](int a, int b) {
    return graph.cost[a] > graph.cost[b];
  });
  for (int v : misplaced) {
    const int group = graph.group[v];
    put(group, Attract(problem, group, Candidates(problem, group, mask), device, load));
  }
  for (int group : problem.group_order()) {
    if (device[group] >= 0) continue;
    put(group, Attract(problem, group, problem.allowed_devices(group), device, load));
  }
  Placement placement;
  for (int d : device) placement.device.push_back(static_cast<DeviceIndex>(d));
  return placement;
}

std::vector<std::int32_t> OneVertexPerPart(const PartitionGraph& graph,
                                           const std::vector<double>& speeds) {
  EMPLACE_CHECK(graph.size() <= static_cast<int>(speeds.size()));
  std::vector<int> vertices(graph.size()), parts(speeds.size());
  std::iota(vertices.begin(), vertices.end(), 0);
  std::iota(parts.begin(), parts.end(), 0);
  std::stable_sort(vertices.begin(), vertices.end(), [&](int a, int b) {
    return graph.cost[a] > graph.cost[b];
  });
  std::stable_sort(parts.begin(), parts.end(), [&](int a, int b) { return speeds[a] > speeds[b]; });
  std::vector<std::int32_t> part(graph.size());
  for (int i = 0; i < graph.size(); ++i) part[vertices[i]] = parts[i];
  return part;
}

}  // namespace emplace
