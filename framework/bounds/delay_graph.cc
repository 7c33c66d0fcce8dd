#include "framework/bounds/delay_graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace emplace {

DeviceMasks AllowedDevices(const Problem& problem) {
  DeviceMasks masks;
  for (int g = 0; g < problem.num_groups(); ++g) masks.push_back(problem.allowed_devices(g));
  return masks;
}

DelayGraph::DelayGraph(const Problem& problem)
    : problem_(problem), num_devices_(problem.num_devices()) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  const int n = graph.num_ops();
  std::vector<int> place(n);
  for (int i = 0; i < n; ++i) place[graph.topological_order()[i]] = i;
  group_.reserve(n);
  cost_.reserve(size_t(n) * num_devices_);
  begin_.push_back(0);
  added_.resize(n);
  std::vector<Nanos> gap_on_path;  // [num_devices]
  for (int d = 0; d < num_devices_; ++d) {
    gap_.push_back(cluster.kind_of(d).gap);
    gap_on_path.push_back(cluster.device(d).slots == 1 ? gap_[d] : 0);
  }
  const auto has_gap = [&](int op) {
    for (int d = 0; d < num_devices_; ++d) {
      if (gap_on_path[d] > 0 && cost(op)[d] == 0) return false;
    }
    return std::ranges::any_of(gap_on_path, [](Nanos gap) { return gap > 0; });
  };
  // By bytes, -1 for two ops of one group, and by whether there are gaps after the first op.
  std::map<std::pair<std::int64_t, bool>, int> table_of;
  const auto find_table = [&](std::int64_t bytes, bool gaps) {
    const auto [known, fresh] =
        table_of.try_emplace({bytes, gaps}, static_cast<int>(bytes_.size()));
    if (!fresh) return known->second;
    bytes_.push_back(bytes);
    for (int s = 0; s < num_devices_; ++s) {
      for (int d = 0; d < num_devices_; ++d) {
        const Nanos apart = bytes < 0 ? kMaxNanos : cluster.TransferTime(s, d, bytes);
        delays_.push_back(s != d ? apart : gaps ? gap_on_path[d] : 0);
      }
    }
    return known->second;
  };
  find_table(-1, false);  // table 0
  std::vector<std::int64_t> bytes_from(n, 0);
  for (int v : graph.topological_order()) {
    const int group = problem.grouping().group_of(v);
    group_.push_back(group);
    for (int d = 0; d < num_devices_; ++d) {
      cost_.push_back(problem.allowed(group, d) ? problem.costs().at(v, d) : kMaxNanos);
    }
    for (int u : graph.predecessors(v)) bytes_from[u] = 0;
    for (int t : graph.op(v).inputs) {
      const int u = graph.tensor(t).producer;
      if (u >= 0) bytes_from[u] = std::max(bytes_from[u], graph.tensor(t).bytes);
    }
    for (int u : graph.predecessors(v)) {
      const bool together = problem.grouping().group_of(u) == group;
      edges_.push_back({place[u], find_table(together ? -1 : bytes_from[u], has_gap(place[u]))});
    }
    begin_.push_back(static_cast<int>(edges_.size()));
  }
}

void DelayGraph::Add(int from, int to, std::span<const Nanos> delays) {
  added_[to].push_back({from, static_cast<int>(bytes_.size())});
  bytes_.push_back(-1);
  delays_.insert(delays_.end(), delays.begin(), delays.end());
}

}  // namespace emplace
