#include "simulator/engine/engine.h"

#include <algorithm>

#include "framework/base/error.h"

namespace emplace {

void Engine::RunNeighbor(std::span<const Move> /*moves*/,
                         const RunDetail& /*detail*/,
                         Outcome& /*outcome*/) {
  EMPLACE_CHECK(!"SetBase() has reported that this is not possible");
}

ServerState::ServerState(const CompiledProblem& problem)
    : slot_begin{0}, channel_free(problem.num_channels, 0), busy(problem.num_devices, 0) {
  for (int count : problem.slots) slot_begin.push_back(slot_begin.back() + count);
  slot_free.assign(slot_begin.back(), 0);
}

void ServerState::Reset() {
  std::fill(slot_free.begin(), slot_free.end(), 0);
  std::fill(channel_free.begin(), channel_free.end(), 0);
  std::fill(busy.begin(), busy.end(), 0);
}

Nanos ServerState::Occupy(const CompiledProblem& problem,
                          int channel,
                          int source,
                          int destination,
                          Nanos earliest,
                          Nanos wire) {
  const int from = problem.occupies_source[channel] ? PickSlot(source) : -1;
  const int to = problem.occupies_destination[channel] ? PickSlot(destination) : -1;
  Nanos start = earliest;
  if (from >= 0) start = std::max(start, slot_free[from]);
  if (to >= 0) start = std::max(start, slot_free[to]);
  if (from >= 0) {
    slot_free[from] = start + wire;
    busy[source] += wire;
  }
  if (to >= 0) {
    slot_free[to] = start + wire;
    busy[destination] += wire;
  }
  return start;
}

Nanos ServerState::LatestFree() const {
  Nanos latest = *std::max_element(slot_free.begin(), slot_free.end());
  for (Nanos free : channel_free) latest = std::max(latest, free);
  return latest;
}

void PrepareOutcome(const CompiledProblem& problem, const OutcomeDetail& detail, Outcome& outcome) {
  outcome.devices.resize(problem.num_devices);
  outcome.channels.assign(detail.channels ? problem.num_channels : 0, ChannelOutcome{});
  outcome.start.resize(detail.op_times ? problem.num_ops : 0);
  outcome.finish.resize(detail.op_times ? problem.num_ops : 0);
}

void FinishOutcome(const CompiledProblem& problem,
                   const ServerState& servers,
                   const std::vector<std::int64_t>& peak,
                   Outcome& outcome) {
  outcome.feasible = true;
  for (int d = 0; d < problem.num_devices; ++d) {
    DeviceOutcome& device = outcome.devices[d];
    device.busy = servers.busy[d];
    device.peak = peak[d];
    device.deficit = std::max<std::int64_t>(0, peak[d] - problem.memory[d]);
    if (device.deficit > 0) outcome.feasible = false;
  }
}

}  // namespace emplace
