#pragma once

// The timeline of one simulated step: every op, every transfer and every change of memory. It is
// drawn (`emplace simulate --trace`, the report) and checked (golden tests). SimulateReference()
// (reference.h) makes it; the engines keep no events.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// One op on a slot of its device.
struct OpEvent {
  int op = 0, device = 0, slot = 0;
  /// `ready`: the time at which all that it awaits has arrived and, in stream semantics, the host
  /// has launched it. Until `start` it waits for its slot, and in queue semantics also for the
  /// host. [ns]
  Nanos ready = 0, start = 0, finish = 0;
};

/// One hop of one copy: a tensor, or the control edges of an op, on one channel.
struct TransferEvent {
  int producer = 0;               ///< op that made the tensor or control edges
  int tensor = 0;                 ///< id, or kControlTensor for the control edges of the producer
  int channel = 0;                ///< the channel of this hop
  int hop = 0;                    ///< position of the channel on the route, from 0
  int source = 0;                 ///< device where the route begins
  std::vector<int> destinations;  ///< at the routes' ends; several with a broadcast channel
  std::int64_t bytes = 0;         ///< [B]
  /// The slots of `source` and of destinations[0] that it occupies for `wire`; -1: none.
  int source_slot = -1, destination_slot = -1;
  /// `ready`: the arrival of the previous hop; for a first hop the finish of the producer, in
  /// stream semantics not before the host has issued it. The transfer is on the wire from `start`
  /// for `wire` and arrives at `arrival` = start + latency + wire. [ns]
  Nanos ready = 0, start = 0, wire = 0, arrival = 0;
};

/// The bytes in use on a device from `time` on.
struct MemoryEvent {
  int device = 0;
  Nanos time = 0;          ///< [ns]
  std::int64_t bytes = 0;  ///< in use, not the change [B]
};

struct Timeline {
  Outcome outcome;                       ///< with channels and op times
  std::vector<OpEvent> ops;              ///< in the order of service
  std::vector<TransferEvent> transfers;  ///< likewise
  std::vector<MemoryEvent> memory;       ///< per device, ascending in time; empty if not counted
};

/// Returns the trace in the JSON format of Chrome's trace viewer, which Perfetto opens: a row per
/// device slot and channel, arrows for the transfers, a memory counter per device. README.md, "What
/// comes out", lists the events and their fields.
/// @param timeline  of the same problem
std::string FormatTrace(const Problem& problem, const Timeline& timeline);

}  // namespace emplace
