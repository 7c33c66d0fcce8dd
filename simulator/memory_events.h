#pragma once

#include <cstdint>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Allocations and releases of one run in any order; the peaks come from one pass in time order, in
/// which allocations stand before releases at equal times. Sorted by radix: linear in the number of
/// events.
class MemoryEvents {
 public:
  void clear() { events_.clear(); }
  void Allocate(Nanos time, int device, std::int64_t bytes) { Add(time, 0, device, bytes); }
  void Release(Nanos time, int device, std::int64_t bytes) { Add(time, 1, device, -bytes); }

  /// @param used  [num_devices] bytes in use before the first event; changed
  /// @param peak  [num_devices] out: largest use [B]
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
