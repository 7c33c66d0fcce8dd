#pragma once

#include <cstdint>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Peak memory of a run whose allocations and releases are known by their times, as in queue
/// semantics. They are collected in any order; one pass in time order then finds the peaks. At
/// equal times all allocations come before all releases, so that a buffer whose life has no length
/// still counts at its instant.
///
///   events.clear();
///   events.Allocate(start, device, bytes);  events.Release(finish, device, bytes);  ...
///   events.Sweep(used, peak);
///
/// Sorted by radix: linear in the number of events. Holds its memory between runs.
class MemoryEvents {
 public:
  void clear() { events_.clear(); }
  /// @param time    [ns], less than kMaxNanos  @param device  less than 64  @param bytes  [B], >= 0
  void Allocate(Nanos time, int device, std::int64_t bytes) { Add(time, 0, device, bytes); }
  void Release(Nanos time, int device, std::int64_t bytes) { Add(time, 1, device, -bytes); }

  /// Goes through all events.
  /// @param used  [num_devices] bytes in use before the first event; afterwards, after the last [B]
  /// @param peak  [num_devices] out: most bytes in use at any time, the beginning included [B]
  void Sweep(std::vector<std::int64_t>& used, std::vector<std::int64_t>& peak);

 private:
  struct Event {
    std::uint64_t key;  // time << 7 | release << 6 | device
    std::int64_t delta;
  };
  void Add(Nanos time, std::uint64_t release, int device, std::int64_t delta) {
    if (delta == 0) return;
    events_.push_back(
        {static_cast<std::uint64_t>(time) << 7 | release << 6 | static_cast<std::uint64_t>(device),
         delta});
  }
  void Sort();

  std::vector<Event> events_, scratch_;
};

}  // namespace emplace
