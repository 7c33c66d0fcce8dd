#include "simulator/period/period.h"

#include <algorithm>
#include <vector>

#include "framework/schedule/memory_plan.h"

namespace emplace {

void EvaluatePeriod(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    const OutcomeDetail& detail,
                    Outcome& outcome) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  const int num_devices = cluster.num_devices();
  std::vector<Nanos> load(num_devices, 0);
  std::vector<std::int64_t> bytes(num_devices, 0);
  outcome.devices.assign(num_devices, {});
  outcome.channels.assign(detail.channels ? cluster.num_channels() : 0, {});
  outcome.start.clear();
  outcome.finish.clear();

  const auto pays = [&](int d, Nanos time) {
    if (cluster.kind_of(d).pays_transfers) load[d] += time;
  };
  const auto send = [&](int source, std::int64_t size, std::span<const int> readers) {
    std::uint64_t served = std::uint64_t{1} << source;
    Nanos dearest = 0;
    for (int reader : readers) {
      const int d = device_of_op[reader];
      if (served >> d & 1) continue;
      served |= std::uint64_t{1} << d;
      const Nanos time = cluster.TransferTime(source, d, size);
      dearest = std::max(dearest, time);
      pays(d, time);
      if (!detail.channels) continue;
      for (int k : cluster.route(source, d)) {
        ChannelOutcome& channel = outcome.channels[k];
        channel.busy += WireTime(size, cluster.channel(k));
        channel.bytes += size;
        ++channel.transfers;
      }
    }
    pays(source, dearest);
  };

  for (int v = 0; v < graph.num_ops(); ++v) {
    const int d = device_of_op[v];
    const Nanos cost = problem.costs().at(v, d);
    load[d] += cost;
    outcome.devices[d].busy += cost;
    for (int t : graph.op(v).outputs) {
      send(d, graph.tensor(t).bytes, graph.readers(t));
      if (graph.tensor(t).alias_of < 0 && !IsResident(graph.tensor(t))) {
        bytes[d] += graph.tensor(t).bytes;
      }
    }
    send(d, 0, graph.control_readers(v));
  }
  const std::vector<std::int64_t> resident = ResidentBytes(graph, num_devices, device_of_op);
  outcome.step_time = *std::max_element(load.begin(), load.end());
  outcome.feasible = true;
  for (int d = 0; d < num_devices; ++d) {
    DeviceOutcome& device = outcome.devices[d];
    device.peak = bytes[d] + resident[d];
    device.deficit = std::max<std::int64_t>(0, device.peak - cluster.device(d).memory);
    if (device.deficit > 0) outcome.feasible = false;
  }
}

}  // namespace emplace
