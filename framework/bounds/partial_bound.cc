#include "framework/bounds/partial_bound.h"

#include <algorithm>
#include <bit>

namespace emplace {

PartialBound::PartialBound(const Problem& problem) : problem_(problem) {
  const Graph& graph = problem.graph();
  std::vector<std::int64_t> bytes_from(graph.num_ops(), -1);
  input_begin_.push_back(0);
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (int u : graph.predecessors(v)) bytes_from[u] = 0;
    for (int t : graph.op(v).inputs) {
      const int u = graph.tensor(t).producer;
      if (u >= 0) bytes_from[u] = std::max(bytes_from[u], graph.tensor(t).bytes);
    }
    for (int u : graph.predecessors(v)) inputs_.push_back({u, bytes_from[u]});
    input_begin_.push_back(static_cast<int>(inputs_.size()));
  }
  est_.resize(size_t(problem.num_ops()) * problem.num_devices());
  load_.resize(problem.num_devices());
}

Nanos PartialBound::operator()(std::span<const std::uint64_t> masks) {
  const Cluster& cluster = problem_.cluster();
  const int num_devices = cluster.num_devices();
  Nanos bound = 0;
  for (int v : problem_.graph().topological_order()) {
    const int group = problem_.grouping().group_of(v);
    Nanos least = kMaxNanos;
    for (int d = 0; d < num_devices; ++d) {
      Nanos& est = est_[size_t(v) * num_devices + d];
      est = kMaxNanos;
      if (!(masks[group] >> d & 1)) continue;
      Nanos ready = 0;
      for (int i = input_begin_[v]; i < input_begin_[v + 1]; ++i) {
        const auto [u, bytes] = inputs_[i];
        const Nanos* const from = &est_[size_t(u) * num_devices];
        Nanos arrival = from[d];
        if (problem_.grouping().group_of(u) != group) {
          for (std::uint64_t rest = masks[problem_.grouping().group_of(u)]; rest;
               rest &= rest - 1) {
            const int s = std::countr_zero(rest);
            const Nanos time = cluster.TransferTime(s, d, bytes);
            if (time < kMaxNanos) arrival = std::min(arrival, from[s] + time);
          }
        }
        ready = std::max(ready, arrival);
      }
      if (ready == kMaxNanos) continue;
      est = ready + problem_.costs().at(v, d);
      least = std::min(least, est);
    }
    bound = std::max(bound, least);
  }
  std::fill(load_.begin(), load_.end(), 0);
  for (int g = 0; g < problem_.num_groups(); ++g) {
    if (!std::has_single_bit(masks[g])) continue;
    const int d = std::countr_zero(masks[g]);
    load_[d] += problem_.group_cost(g, d);
  }
  for (int d = 0; d < num_devices; ++d) {
    const int slots = cluster.device(d).slots;
    bound = std::max(bound, (load_[d] + slots - 1) / slots);
  }
  return bound;
}

}  // namespace emplace
