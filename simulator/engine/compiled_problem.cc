#include "simulator/engine/compiled_problem.h"

#include <algorithm>

namespace emplace {
namespace {

// @param rates  out: a channel for each wire time, see CompiledProblem::rate
void CompileMachine(const Cluster& cluster, CompiledProblem& p, std::vector<Channel>& rates) {
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceKind& kind = cluster.kind_of(d);
    p.gap.push_back(kind.gap);
    p.issue.push_back(kind.issue);
    p.launch.push_back(kind.launch);
    p.slots.push_back(cluster.device(d).slots);
    p.memory.push_back(cluster.device(d).memory);
    p.has_slots |= cluster.device(d).slots > 1;
    p.has_host |= kind.issue > 0 || kind.launch > 0;
    p.has_cold |= kind.cold_read.has_value();
  }
  p.has_interference = cluster.has_neighbors();
  for (int d = 0; p.has_interference && d < cluster.num_devices(); ++d) {
    const auto& classes = cluster.kind_of(d).interference;
    const auto found = classes.find(kTransferClass);
    p.transfers.push_back(found == classes.end() ? Interference{} : found->second);
    p.neighbors.push_back(cluster.device(d).neighbors);
  }
  for (const Channel& channel : cluster.channels()) {
    p.latency.push_back(channel.latency);
    p.channel_gap.push_back(channel.gap);
    p.broadcast.push_back(channel.broadcast);
    p.occupies_source.push_back(OccupiesSource(channel.occupies));
    p.occupies_destination.push_back(OccupiesDestination(channel.occupies));
    p.has_occupies |= channel.occupies != Occupies::kNone;
    const auto known = std::find_if(rates.begin(), rates.end(), [&](const Channel& other) {
      return other.bandwidth == channel.bandwidth && other.setup == channel.setup;
    });
    p.rate.push_back(static_cast<int>(known - rates.begin()));
    if (known == rates.end()) rates.push_back(channel);
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
    : CompiledGraph(problem.graph(), op_order),
      num_devices(problem.num_devices()),
      num_channels(problem.cluster().num_channels()) {
  std::vector<Channel> rates;
  CompileMachine(problem.cluster(), *this, rates);
  num_rates = static_cast<int>(rates.size());
  for (const int v : op_at) {
    group_at.push_back(problem.grouping().group_of(v));
    for (int d = 0; d < num_devices; ++d) {
      cost.push_back(problem.costs().at(v, d));
      if (has_interference) interference.push_back(problem.costs().interference_at(v, d));
    }
  }
  for (const Item& item : items) {
    for (const Channel& channel : rates) wire.push_back(WireTime(item.bytes, channel));
    for (int d = 0; has_cold && d < num_devices; ++d) {
      cold.push_back(ColdReadTime(item.bytes, problem.cluster().kind_of(d)));
    }
  }
}

}  // namespace emplace
