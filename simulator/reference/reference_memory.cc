// Peak memory of queue and stream semantics, as README.md defines it. To be independent of the fast
// implementations that are compared with it, it shares only IsResident() and StorageOf() with them.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "framework/schedule/memory_plan.h"
#include "simulator/reference/reference_internal.h"

namespace emplace::reference {
namespace {

using Place = std::pair<int, int>;  // (tensor, device): a buffer, a tensor's own or a received copy

// Returns the buffers that are never released: those of outputs, and those that share memory with
// an output or with a resident tensor.
std::set<Place> PinnedBuffers(const Graph& graph, std::span<const DeviceIndex> device_of_op) {
  std::set<Place> pinned;
  for (int t = 0; t < graph.num_tensors(); ++t) {
    if (graph.tensor(t).role == TensorRole::kOutput || IsResident(graph.tensor(t))) {
      const Storage storage = StorageOf(graph, device_of_op, t);
      pinned.insert({storage.root, storage.device});
    }
  }
  return pinned;
}

bool OwnsTransientMemory(const Tensor& tensor) {
  return tensor.alias_of < 0 && !IsResident(tensor);
}

}  // namespace

void AddQueueMemory(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    Timeline& timeline) {
  const Graph& graph = problem.graph();
  Outcome& outcome = timeline.outcome;

  struct Life {
    Nanos begin = 0, end = 0;
    std::int64_t bytes = 0;
  };
  std::map<Place, Life> lives;
  const auto finish_of_readers = [&](int tensor, int device) {
    Nanos latest = 0;
    for (int reader : graph.readers(tensor)) {
      if (device_of_op[reader] == device) latest = std::max(latest, outcome.finish[reader]);
    }
    return latest;
  };

  std::vector<Nanos> first_hop_arrival(graph.num_tensors(), 0);
  for (const TransferEvent& event : timeline.transfers) {
    if (event.tensor == kControlTensor) continue;
    if (event.hop == 0) {
      first_hop_arrival[event.tensor] = std::max(first_hop_arrival[event.tensor], event.arrival);
    }
    for (int d : event.destinations) {
      const auto route = problem.cluster().route(event.source, d);
      if (event.hop + 1 < static_cast<int>(route.size())) continue;
      lives[{event.tensor, d}] = {event.start, finish_of_readers(event.tensor, d), event.bytes};
    }
  }
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.producer < 0 || !OwnsTransientMemory(tensor)) continue;
    lives[{t, device_of_op[tensor.producer]}] = {outcome.start[tensor.producer], 0, tensor.bytes};
  }
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const int producer = graph.tensor(t).producer;
    if (producer < 0) continue;
    const Storage storage = StorageOf(graph, device_of_op, t);
    const auto life = lives.find({storage.root, storage.device});
    if (life == lives.end()) continue;  // shares resident memory
    life->second.end = std::max({life->second.end,
                                 outcome.finish[producer],
                                 first_hop_arrival[t],
                                 finish_of_readers(t, device_of_op[producer])});
  }
  for (const Place& place : PinnedBuffers(graph, device_of_op)) {
    const auto life = lives.find(place);
    if (life != lives.end()) life->second.end = kMaxNanos;
  }

  struct Change {
    Nanos time;
    bool release;  // allocations come first at equal times
    int device;
    std::int64_t delta;
  };
  std::vector<Change> changes;
  for (const auto& [place, life] : lives) {
    changes.push_back({life.begin, false, place.second, life.bytes});
    changes.push_back({life.end, true, place.second, -life.bytes});
  }
  for (const OpEvent& event : timeline.ops) {
    const std::int64_t workspace = graph.op(event.op).workspace_bytes;
    changes.push_back({event.start, false, event.device, workspace});
    changes.push_back({event.finish, true, event.device, -workspace});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.time, a.release) < std::tie(b.time, b.release);
  });

  std::vector<std::int64_t> used = ResidentBytes(graph, problem.num_devices(), device_of_op);
  for (int d = 0; d < problem.num_devices(); ++d) {
    outcome.devices[d].peak = used[d];
    timeline.memory.push_back({d, 0, used[d]});
  }
  for (const Change& change : changes) {
    if (change.delta == 0 || change.time == kMaxNanos) continue;
    used[change.device] += change.delta;
    outcome.devices[change.device].peak =
        std::max(outcome.devices[change.device].peak, used[change.device]);
    timeline.memory.push_back({change.device, change.time, used[change.device]});
  }
}

void AddStreamMemory(const Problem& problem,
                     std::span<const DeviceIndex> device_of_op,
                     Timeline& timeline) {
  const Graph& graph = problem.graph();
  Outcome& outcome = timeline.outcome;

  // The op after which each buffer is released: the last in issue order that makes, reads or
  // aliases it. timeline.ops is in issue order.
  std::map<Place, int> last_use;  // position in timeline.ops
  for (int position = 0; position < static_cast<int>(timeline.ops.size()); ++position) {
    const int v = timeline.ops[position].op, d = timeline.ops[position].device;
    for (int t : graph.op(v).outputs) {
      const Storage storage = StorageOf(graph, device_of_op, t);
      last_use[{storage.root, storage.device}] = position;
    }
    for (int t : graph.reads(v)) {
      const int producer = graph.tensor(t).producer;
      if (producer < 0) continue;
      if (device_of_op[producer] != d) {
        last_use[{t, d}] = position;
      } else {
        const Storage storage = StorageOf(graph, device_of_op, t);
        last_use[{storage.root, storage.device}] = position;
      }
    }
  }
  std::vector<std::vector<Place>> released_behind(timeline.ops.size());
  const std::set<Place> pinned = PinnedBuffers(graph, device_of_op);
  for (const auto& [place, position] : last_use) {
    if (!pinned.contains(place)) released_behind[position].push_back(place);
  }

  std::vector<std::int64_t> used = ResidentBytes(graph, problem.num_devices(), device_of_op);
  std::vector<Nanos> clock(problem.num_devices(), 0);
  const auto change = [&](int device, std::int64_t delta, Nanos time) {
    if (delta == 0) return;
    used[device] += delta;
    clock[device] = std::max(clock[device], time);
    outcome.devices[device].peak = std::max(outcome.devices[device].peak, used[device]);
    timeline.memory.push_back({device, clock[device], used[device]});
  };
  for (int d = 0; d < problem.num_devices(); ++d) {
    outcome.devices[d].peak = used[d];
    timeline.memory.push_back({d, 0, used[d]});
  }
  size_t next_transfer = 0;
  for (size_t position = 0; position < timeline.ops.size(); ++position) {
    const OpEvent& event = timeline.ops[position];
    const Op& op = graph.op(event.op);
    std::int64_t outputs = 0;
    for (int t : op.outputs) {
      if (OwnsTransientMemory(graph.tensor(t))) outputs += graph.tensor(t).bytes;
    }
    change(event.device, outputs + op.workspace_bytes, event.start);
    change(event.device, -op.workspace_bytes, event.finish);
    for (; next_transfer < timeline.transfers.size() &&
           timeline.transfers[next_transfer].producer == event.op;
         ++next_transfer) {
      const TransferEvent& transfer = timeline.transfers[next_transfer];
      if (transfer.hop != 0) continue;  // each copy is counted once, with its first hop
      for (int d : transfer.destinations) change(d, transfer.bytes, transfer.start);
    }
    for (const auto& [tensor, device] : released_behind[position]) {
      change(device, -graph.tensor(tensor).bytes, event.finish);
    }
  }
}

}  // namespace emplace::reference
