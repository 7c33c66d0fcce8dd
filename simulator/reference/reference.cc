#include "simulator/reference/reference.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "simulator/reference/reference_internal.h"

namespace emplace {
namespace reference {

Servers::Servers(const Cluster& c, bool contention)
    : cluster(c), channel_contention(contention), channel_free(c.num_channels(), 0) {
  for (const Device& device : c.devices()) slot_free.emplace_back(device.slots, 0);
}

int Servers::PickSlot(int device) const {
  const auto& free = slot_free[device];
  return static_cast<int>(std::min_element(free.begin(), free.end()) - free.begin());
}

Nanos Servers::Run(int device, int slot, Nanos start, Nanos cost) {
  const Nanos finish = start + cost;
  slot_free[device][slot] = finish + (cost > 0 ? cluster.kind_of(device).gap : 0);
  return finish;
}

Nanos Servers::Issue(int device, Nanos ready) {
  host = std::max(host, ready) + cluster.kind_of(device).issue;
  return host + cluster.kind_of(device).launch;
}

Servers::Hop Servers::Send(int channel,
                           int source,
                           int destination,
                           Nanos earliest,
                           std::int64_t bytes) {
  const Channel& c = cluster.channel(channel);
  Hop hop{.start = earliest, .wire = WireTime(bytes, c)};
  if (channel_contention) hop.start = std::max(hop.start, channel_free[channel]);
  if (OccupiesSource(c.occupies)) {
    hop.source_slot = PickSlot(source);
    hop.start = std::max(hop.start, slot_free[source][hop.source_slot]);
  }
  if (OccupiesDestination(c.occupies)) {
    hop.destination_slot = PickSlot(destination);
    hop.start = std::max(hop.start, slot_free[destination][hop.destination_slot]);
  }
  const Nanos sent = hop.start + hop.wire;
  if (hop.source_slot >= 0) slot_free[source][hop.source_slot] = sent;
  if (hop.destination_slot >= 0) slot_free[destination][hop.destination_slot] = sent;
  channel_free[channel] = std::max(channel_free[channel], sent + c.gap);
  hop.arrival = sent + c.latency;
  return hop;
}

Nanos Servers::LatestFree() const {
  Nanos latest = 0;
  for (const auto& free : slot_free) latest = std::max(latest, *std::ranges::max_element(free));
  for (Nanos free : channel_free) latest = std::max(latest, free);
  return latest;
}

Nanos CostWithColdReads(const Problem& problem, std::span<const DeviceIndex> device_of_op, int op) {
  const DeviceIndex d = device_of_op[op];
  Nanos cost = problem.costs().at(op, d);
  for (const int t : ColdReads(problem.graph(), device_of_op, op)) {
    cost += ColdReadTime(problem.graph().tensor(t).bytes, problem.cluster().kind_of(d));
  }
  return cost;
}

Outcome Summarize(const Problem& problem,
                  const Timeline& timeline,
                  const Servers& servers,
                  bool count_gaps) {
  Outcome outcome;
  outcome.devices.resize(problem.num_devices());
  outcome.channels.resize(problem.cluster().num_channels());
  outcome.start.resize(problem.num_ops());
  outcome.finish.resize(problem.num_ops());
  for (const OpEvent& event : timeline.ops) {
    outcome.start[event.op] = event.start;
    outcome.finish[event.op] = event.finish;
    outcome.devices[event.device].busy += event.finish - event.start;
    outcome.step_time = std::max(outcome.step_time, event.finish);
  }
  for (const TransferEvent& event : timeline.transfers) {
    ChannelOutcome& channel = outcome.channels[event.channel];
    channel.busy += event.wire;
    channel.bytes += event.bytes;
    ++channel.transfers;
    if (event.source_slot >= 0) outcome.devices[event.source].busy += event.wire;
    if (event.destination_slot >= 0) outcome.devices[event.destinations[0]].busy += event.wire;
    outcome.step_time = std::max(outcome.step_time, event.arrival);
  }
  if (count_gaps) outcome.step_time = std::max(outcome.step_time, servers.LatestFree());
  return outcome;
}

}  // namespace reference

Timeline SimulateReference(const Problem& problem,
                           std::span<const DeviceIndex> device_of_op,
                           const SimulatorOptions& options) {
  EMPLACE_CHECK(static_cast<int>(device_of_op.size()) == problem.num_ops());
  for (int v = 0; v < problem.num_ops(); ++v) {
    if (!problem.costs().allowed(v, device_of_op[v])) {
      throw InputError(fmt::format("placement: op \"{}\" ({}) may not run on device \"{}\"",
                                   problem.graph().op(v).name,
                                   problem.graph().op(v).kind,
                                   problem.cluster().device(device_of_op[v]).name));
    }
  }
  RequireIssueOrder(problem.graph(), options.issue_order, options.semantics);
  const SemanticsEntry& semantics = EntryOf(options.semantics);
  Timeline timeline = semantics.simulate_reference(problem, device_of_op, options);
  if (options.memory) semantics.add_reference_memory(problem, device_of_op, timeline);
  for (int d = 0; d < problem.num_devices(); ++d) {
    DeviceOutcome& device = timeline.outcome.devices[d];
    device.deficit = std::max<std::int64_t>(0, device.peak - problem.cluster().device(d).memory);
    if (device.deficit > 0) timeline.outcome.feasible = false;
  }
  return timeline;
}

}  // namespace emplace
