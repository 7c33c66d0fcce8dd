#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Peak memory of a run whose allocations and releases have times, as in queue semantics. Events
/// are collected in any order; Sweep() then finds the peaks. At equal times all allocations come
/// before all releases, so a buffer of zero lifetime still counts.
///
///   MemoryEvents::Writer writer = events.Begin(latest);
///   writer.Allocate(start, device, bytes);  writer.Release(finish, device, bytes);  ...
///   events.Sweep(writer, used, peak);
///
/// The buffers are kept between runs.
class MemoryEvents {
 public:
  class Writer;

  /// @param num_devices  1 to 64  @param capacity  most events of a run
  MemoryEvents(int num_devices, size_t capacity);

  /// Removes all events. @param latest  no event is later; less than kMaxNanos [ns]
  Writer Begin(Nanos latest);

  /// Processes all events.
  /// @param used  [num_devices] bytes in use before the first event [B]
  /// @param peak  [num_devices] out: most bytes in use at any time, including the beginning [B]
  void Sweep(const Writer& written,
             const std::vector<std::int64_t>& used,
             std::vector<std::int64_t>& peak);

 private:
  struct Event {
    std::uint64_t key;  // time, 1 bit for release, device_bits for the device
    std::int64_t delta;
  };

  static constexpr int kEventsPerBinBits = 3;

  int num_devices_, device_bits_, bin_bits_;
  size_t device_columns_;  // devices, rounded up to a power of two, at least 4
  std::vector<Event> events_, suspects_, scratch_;
  std::vector<std::int64_t> bins_;  // [bins, 2 * device_columns_] bytes allocated, bytes released
  std::vector<std::int64_t> used_, bin_of_device_;
};

/// Collects events. Should be a local variable of the loop that finds them.
class MemoryEvents::Writer {
 public:
  /// @param time    [ns], not later than the `latest` of Begin()
  /// @param device  < num_devices
  /// @param bytes   [B], > 0
  void Allocate(Nanos time, int device, std::int64_t bytes) { Add(time, 0, device, bytes); }
  void Release(Nanos time, int device, std::int64_t bytes) { Add(time, 1, device, -bytes); }

 private:
  friend class MemoryEvents;

  void Add(Nanos time, std::uint64_t release, int device, std::int64_t delta) {
    const std::uint64_t column = release << device_bits_ | static_cast<std::uint64_t>(device);
    const std::uint64_t key = static_cast<std::uint64_t>(time) << (device_bits_ + 1) | column;
    *end_++ = {key, delta};
    bins_[BinOf(key) | column] += delta;
  }
  // Returns the first column in `bins_` of the bin of an event.
  size_t BinOf(std::uint64_t key) const { return key >> shift_ << (device_bits_ + 1); }

  Event* end_ = nullptr;
  std::int64_t* bins_ = nullptr;
  int device_bits_ = 0;
  int shift_ = 0;  // shift of a key to its bin
};

}  // namespace emplace
