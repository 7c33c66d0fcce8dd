// S semantics, as the contract defines it: one pass over the ops in issue order.

#include <algorithm>
#include <map>

#include "framework/schedule/issue_order.h"
#include "simulator/reference_internal.h"

namespace emplace::reference {

Timeline SimulateStream(const Problem& problem,
                        std::span<const DeviceIndex> device_of_op,
                        bool count_gaps) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  Servers servers(cluster);
  Timeline timeline;
  Nanos host = 0;
  std::map<std::tuple<int, int, int>, Nanos> arrivals;  // (producer, tensor, device)

  const auto issue = [&](int device) {
    host += cluster.kind_of(device).issue;
    return host + cluster.kind_of(device).launch;
  };

  for (int v : IssueOrder(graph)) {
    const int d = device_of_op[v];
    Nanos ready = issue(d);
    for (int t : graph.reads(v)) {
      const int producer = graph.tensor(t).producer;
      if (producer >= 0) ready = std::max(ready, arrivals.at({producer, t, d}));
    }
    for (int producer : graph.op(v).control_inputs) {
      ready = std::max(ready, arrivals.at({producer, kControlTensor, d}));
    }
    const int slot = servers.PickSlot(d);
    const Nanos start = std::max(servers.slot_free[d][slot], ready);
    const Nanos finish = servers.Run(d, slot, start, problem.costs().at(v, d));
    timeline.ops.push_back({v, d, slot, ready, start, finish});
    for (int t : graph.op(v).outputs) arrivals[{v, t, d}] = finish;
    arrivals[{v, kControlTensor, d}] = finish;

    for (const Copy& copy : CopiesOf(graph, cluster, device_of_op, v)) {
      const Nanos copy_ready = std::max(finish, issue(d));
      Nanos first_arrival = 0;
      for (size_t i = 0; i < copy.destinations.size(); ++i) {
        const int destination = copy.destinations[i];
        const auto route = cluster.route(d, destination);
        Nanos at = copy_ready;
        for (int hop = 0; hop < static_cast<int>(route.size()); ++hop) {
          if (hop == 0 && i > 0) {  // came with the broadcast
            at = first_arrival;
            continue;
          }
          const int channel = route[hop];
          const Nanos hop_start = std::max(servers.channel_free[channel], at);
          const Nanos arrival = servers.Send(channel, hop_start, copy.bytes);
          const Nanos wire = arrival - hop_start - cluster.channel(channel).latency;
          timeline.transfers.push_back(
              {v,
               copy.tensor,
               channel,
               hop,
               d,
               hop == 0 ? copy.destinations : std::vector<int>{destination},
               copy.bytes,
               at,
               hop_start,
               wire,
               arrival});
          at = arrival;
          if (hop == 0) first_arrival = arrival;
        }
        arrivals[{v, copy.tensor, destination}] = at;
      }
    }
  }
  timeline.outcome = Summarize(problem, timeline, servers, count_gaps);
  return timeline;
}

}  // namespace emplace::reference
