#pragma once

// The timeline of one step as data for page/gantt.js, with the memory curves below.

#include "framework/base/json.h"
#include "simulator/timeline.h"

namespace emplace {

/// The drawn memory use of a device: `bytes` from `time` on.
struct MemoryCurve {
  std::vector<Nanos> time;          ///< [ns]
  std::vector<std::int64_t> bytes;  ///< [B]
};

/// Returns one curve per device, with few enough points for a page. The step is divided into
/// `buckets` equal parts. If a part has more than two events, only the largest use and the last one
/// remain, so the peaks are exact.
/// @return [num_devices]
std::vector<MemoryCurve> DrawMemory(const Timeline& timeline, int num_devices, int buckets);

/// Returns lanes (slots of devices, then channels in use), all ops and transfers in order of their
/// start, and memory. Times are in ns; each `start` is the difference to the start of the entry
/// before:
///
///   {"step_time_ns", "lanes": [{"name", "device" or null}],
///    "ops": {"op", "lane", "start", "duration", "wait"},
///    "transfers": {"lane", "op", "start", "wire", "latency", "wait", "bytes", "to": [[device]]},
///    "memory": [{"device", "capacity" or null, "time", "bytes"}]}
///
/// wait: from ready to start; op of a transfer: the producer of the tensor; latency: from the end
/// on the wire to the arrival.
Json TimelineJson(const Problem& problem, const Timeline& timeline);

}  // namespace emplace
