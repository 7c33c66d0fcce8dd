#pragma once

// The data of the Gantt picture and of the memory curves.

#include "framework/base/json.h"
#include "simulator/timeline.h"

namespace emplace {

/// Use of one device's memory, as it is drawn: `bytes` from `time` on.
struct MemoryCurve {
  std::vector<Nanos> time;          ///< [ns]
  std::vector<std::int64_t> bytes;  ///< [B]
};

/// One curve per device. Where there are more than two events in one of `buckets` equal parts of
/// the step, only the largest use in it and the last remain, so that the peaks are exact.
/// @return [num_devices]
std::vector<MemoryCurve> DrawMemory(const Timeline& timeline, int num_devices, int buckets);

/// Lanes (slots of devices, then channels that are used), every op and transfer in order of start,
/// memory. Times in ns; `start` is the difference to the entry before:
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
