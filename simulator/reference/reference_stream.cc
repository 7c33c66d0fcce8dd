// Stream semantics, as README.md defines it: one pass over the ops in issue order.

#include <algorithm>
#include <map>
#include <tuple>

#include "framework/schedule/issue_order.h"
#include "simulator/reference/reference_internal.h"

namespace emplace::reference {

Timeline SimulateStream(const Problem& problem,
                        std::span<const DeviceIndex> device_of_op,
                        const SimulatorOptions& options) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  Servers servers(cluster, options.channel_contention);
  Timeline timeline;
  std::map<std::tuple<int, int, int>, Nanos> arrivals;  // (producer, tensor, device)

  const std::vector<int> order =
      options.issue_order.empty() ? IssueOrder(graph) : options.issue_order;
  for (int v : order) {
    const int d = device_of_op[v];
    Nanos ready = servers.Issue(d, 0);  // the host waits for nothing
    for (int t : graph.reads(v)) {
      const int producer = graph.tensor(t).producer;
      if (producer >= 0) ready = std::max(ready, arrivals.at({producer, t, d}));
    }
    for (int producer : graph.op(v).control_inputs) {
      ready = std::max(ready, arrivals.at({producer, kControlTensor, d}));
    }
    const int slot = servers.PickSlot(d);
    const Nanos start = std::max(servers.slot_free[d][slot], ready);
    const Nanos finish = servers.Run(d, slot, start, CostWithColdReads(problem, device_of_op, v));
    timeline.ops.push_back({v, d, slot, ready, start, finish});
    for (int t : graph.op(v).outputs) arrivals[{v, t, d}] = finish;
    arrivals[{v, kControlTensor, d}] = finish;

    // Each output in the order of ids, each destination in its turn, even after a shared first hop.
    const std::vector<Copy> copies = CopiesOf(graph, cluster, device_of_op, v);
    std::map<std::pair<int, int>, const Copy*> turns;  // (tensor, destination)
    for (const Copy& copy : copies) {
      for (int destination : copy.destinations) turns[{copy.tensor, destination}] = &copy;
    }
    std::map<const Copy*, Nanos> first_arrival;
    for (const auto& [turn, copy] : turns) {
      const int destination = turn.second;
      const auto route = cluster.route(d, destination);
      const auto send = [&](int hop, Nanos hop_ready) {
        const int channel = route[hop];
        const Servers::Hop sent = servers.Send(channel, d, destination, hop_ready, copy->bytes);
        timeline.transfers.push_back(
            {.producer = v,
             .tensor = copy->tensor,
             .channel = channel,
             .hop = hop,
             .source = d,
             .destinations = hop == 0 ? copy->destinations : std::vector<int>{destination},
             .bytes = copy->bytes,
             .source_slot = sent.source_slot,
             .destination_slot = sent.destination_slot,
             .ready = hop_ready,
             .start = sent.start,
             .wire = sent.wire,
             .arrival = sent.arrival});
        return sent.arrival;
      };
      if (!first_arrival.contains(copy)) {
        first_arrival[copy] = send(0, std::max(finish, servers.Issue(d, 0)));
      }
      Nanos at = first_arrival[copy];
      for (int hop = 1; hop < static_cast<int>(route.size()); ++hop) at = send(hop, at);
      arrivals[{v, copy->tensor, destination}] = at;
    }
  }
  timeline.outcome = Summarize(problem, timeline, servers, options.count_gaps);
  return timeline;
}

}  // namespace emplace::reference
