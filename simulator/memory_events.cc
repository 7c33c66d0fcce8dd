#include "simulator/memory_events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace emplace {

void MemoryEvents::Sweep(std::vector<std::int64_t>& used, std::vector<std::int64_t>& peak) {
  Sort();
  peak = used;
  for (const Event& event : events_) {
    const auto device = event.key & 63;
    used[device] += event.delta;
    peak[device] = std::max(peak[device], used[device]);
  }
}

void MemoryEvents::Sort() {
  constexpr int kLowBits = 6;  // the device does not matter for the order
  constexpr int kDigitBits = 11;
  constexpr size_t kSmall = 256;
  if (events_.size() < kSmall) {
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return a.key < b.key;
    });
    return;
  }
  std::uint64_t all = 0;
  for (const Event& event : events_) all |= event.key;
  const int bits = std::bit_width(all);
  scratch_.resize(events_.size());
  for (int shift = kLowBits; shift < bits; shift += kDigitBits) {
    std::array<std::uint32_t, 1 << kDigitBits> begin{};
    constexpr std::uint64_t kMask = (1 << kDigitBits) - 1;
    for (const Event& event : events_) ++begin[event.key >> shift & kMask];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : begin) sum += std::exchange(count, sum);
    for (const Event& event : events_) scratch_[begin[event.key >> shift & kMask]++] = event;
    events_.swap(scratch_);
  }
}

}  // namespace emplace
