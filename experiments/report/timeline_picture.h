#pragma once

// The timeline of one step as data: page/gantt.js draws it, with the memory curves below.

#include "framework/base/json.h"
#include "simulator/timeline.h"

namespace emplace {

/// Use of one device's memory, as it is drawn: `bytes` from `time` on.
struct MemoryCurve {
  std::vector<Nanos> time;          ///< [ns]
  std::vector<std::int64_t> bytes;  ///< [B]
};

/// One curve per device, with few enough points for a page: the step is cut into `buckets` equal
/// parts, and of more than two events in one of them only the largest use and the last remain. So
/// the peaks are exact.
/// @return [num_devices]
std::vector<MemoryCurve> DrawMemory(const Timeline& timeline, int num_devices, int buckets);

/// Lanes (slots of devices, then channels that are used), every op and transfer in order of their
/// start, and memory. Times are in ns; each `start` is the difference to that of the entry before:
///
///   {"step_time_ns", "lanes": [{"name", "device" or null}],
///    "ops": {"op", "lane", "start", "duration", "wait"},
///    "transfers": {"lane", "op", "start", "wire", "latency", "wait", "bytes", "to": [[device]]},
///    "memory": [{"device", "capacity" or null, "time", "bytes"}]}
///
/// wait: from ready to start; op of a transfer: who made the tensor; latency: from the end on the
/// wire to the arrival.
Json TimelineJson(const Problem& problem, const Timeline& timeline);

}  // namespace emplace
