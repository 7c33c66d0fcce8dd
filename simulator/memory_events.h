#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Peak memory of a run whose allocations and releases are known by their times, as in queue
/// semantics. They are collected in any order; Sweep() then finds the peaks. At equal times all
/// allocations come before all releases, so that a buffer whose life has no length still counts at
/// its instant.
///
///   events.clear();
///   events.Allocate(start, device, bytes);  events.Release(finish, device, bytes);  ...
///   events.Sweep(used, peak);
///
/// Holds its memory between runs.
class MemoryEvents {
 public:
  /// @param num_devices  1 to 64  @param capacity  most events of a run, those of 0 bytes included
  MemoryEvents(int num_devices, size_t capacity);

  void clear() { size_ = 0; }
  /// @param time    [ns], less than kMaxNanos unless `bytes` is 0  @param device  < num_devices
  /// @param bytes   [B], >= 0; events of 0 bytes are left out
  void Allocate(Nanos time, int device, std::int64_t bytes) { Add(time, 0, device, bytes); }
  void Release(Nanos time, int device, std::int64_t bytes) { Add(time, 1, device, -bytes); }

  /// Goes through all events.
  /// @param used  [num_devices] bytes in use before the first event; afterwards, after the last [B]
  /// @param peak  [num_devices] out: most bytes in use at any time, the beginning included [B]
  void Sweep(std::vector<std::int64_t>& used, std::vector<std::int64_t>& peak);

 private:
  struct Event {
    std::uint64_t key;  // time, 1 bit for release, device_bits_ for the device
    std::int64_t delta;
  };
  void Add(Nanos time, std::uint64_t release, int device, std::int64_t delta) {
    events_[size_] = {static_cast<std::uint64_t>(time) << (device_bits_ + 1) |
                          release << device_bits_ | static_cast<std::uint64_t>(device),
                      delta};
    size_ += delta != 0;  // without a branch
  }
  // The event's bin; bins are numbered by time, then release, then device.
  size_t BinOf(const Event& event) const {
    const std::uint64_t lane = event.key & (2 * lanes_ - 1);
    return event.key >> (device_bits_ + 1) >> shift_ << (device_bits_ + 1) | lane;
  }
  void FillBins();
  void Sort();

  int num_devices_, device_bits_;
  size_t lanes_;  // devices, rounded up to a power of two
  std::vector<Event> events_, suspects_, scratch_;
  size_t size_ = 0, num_suspects_ = 0;
  int shift_ = 0;  // time to bin
  std::vector<std::int64_t> bins_;
  std::vector<std::int64_t> used_, in_bin_;
};

}  // namespace emplace
