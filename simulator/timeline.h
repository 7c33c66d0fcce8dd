#pragma once

// What happened when: every op and transfer of one simulated step, for drawing and for checking.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/search/evaluator.h"
#include "simulator/simulator.h"

namespace emplace {

struct OpEvent {
  int op = 0, device = 0, slot = 0;
  Nanos ready = 0, start = 0, finish = 0;  ///< [ns]
};

struct TransferEvent {
  int producer = 0, tensor = 0;  ///< tensor: id or kControlTensor
  int channel = 0, hop = 0;
  int source = 0;                                     ///< device where the route begins
  std::vector<int> destinations;                      ///< devices at the route's end
  std::int64_t bytes = 0;                             ///< [B]
  Nanos ready = 0, start = 0, wire = 0, arrival = 0;  ///< [ns]
};

/// Bytes in use on a device from `time` on.
struct MemoryEvent {
  int device = 0;
  Nanos time = 0;
  std::int64_t bytes = 0;
};

struct Timeline {
  Outcome outcome;           ///< with channels and op times
  std::vector<OpEvent> ops;  ///< in the order of service
  std::vector<TransferEvent> transfers;
  std::vector<MemoryEvent> memory;  ///< per device ascending in time
};

/// Trace in Chrome's/Perfetto's JSON format: one row per device slot and channel, flow arrows for
/// the transfers, a memory counter per device.
std::string FormatTrace(const Problem& problem, const Timeline& timeline);

/// One line per event in order of start: small readable text for golden tests.
std::string FormatTimeline(const Problem& problem, const Timeline& timeline);

}  // namespace emplace
