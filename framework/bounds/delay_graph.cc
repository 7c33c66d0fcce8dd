#include "framework/bounds/delay_graph.h"

#include <unordered_map>

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
  // Table 0, for two ops of one group.
  delays_.assign(size_t(num_devices_) * num_devices_, kMaxNanos);
  for (int d = 0; d < num_devices_; ++d) delays_[d * num_devices_ + d] = 0;
  bytes_.push_back(-1);
  std::unordered_map<std::int64_t, int> table_of;  // by bytes
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
      int table = 0;
      if (problem.grouping().group_of(u) != group) {
        const auto [known, fresh] =
            table_of.try_emplace(bytes_from[u], static_cast<int>(bytes_.size()));
        table = known->second;
        if (fresh) bytes_.push_back(bytes_from[u]);
        for (int s = 0; fresh && s < num_devices_; ++s) {
          for (int d = 0; d < num_devices_; ++d) {
            delays_.push_back(cluster.TransferTime(s, d, bytes_from[u]));
          }
        }
      }
      edges_.push_back({place[u], table});
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
