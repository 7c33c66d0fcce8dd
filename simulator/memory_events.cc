// The peaks without sorting all events. Time is cut into equal bins. Within a bin, what is in use
// on a device stays between what is in use at its ends, which are known from sums, and is never
// above
//
//   what is in use at its beginning + all that is allocated in it
//
// The peak is at least what is in use at the end of any bin. Only bins that may exceed this,
// usually a few, have their events sorted.

#include "simulator/memory_events.h"

#include <algorithm>
#include <array>
#include <utility>

namespace emplace {

MemoryEvents::MemoryEvents(int num_devices, size_t capacity)
    : num_devices_(num_devices),
      device_bits_(std::bit_width(static_cast<unsigned>(num_devices - 1))),
      lanes_(size_t{1} << device_bits_),
      events_(capacity + 1),
      suspects_(capacity + 1),
      scratch_(capacity + 1),
      used_(lanes_) {
}

void MemoryEvents::FillBins() {
  std::uint64_t all = 0;
  for (size_t i = 0; i < size_; ++i) all |= events_[i].key;
  // About as many bins as events.
  const int time_bits = std::bit_width(all >> (device_bits_ + 1));
  const int wanted = std::bit_width(size_ >> (device_bits_ + 1));
  shift_ = std::max(0, time_bits - wanted);
  bins_.assign((size_t{1} << std::min(time_bits, wanted)) * 2 * lanes_, 0);
  for (size_t i = 0; i < size_; ++i) bins_[BinOf(events_[i])] += events_[i].delta;
}

void MemoryEvents::Sweep(std::vector<std::int64_t>& used, std::vector<std::int64_t>& peak) {
  FillBins();
  // What is in use at the beginning of each bin replaces the sum of what it allocates, and the most
  // that may be in use within it replaces the sum of what it releases.
  peak = used;
  for (size_t bin = 0; bin < bins_.size(); bin += 2 * lanes_) {
    for (int d = 0; d < num_devices_; ++d) {
      std::int64_t &allocated = bins_[bin + d], &released = bins_[bin + lanes_ + d];
      const std::int64_t begin = used[d], most = begin + allocated;
      used[d] = most + released;
      peak[d] = std::max(peak[d], used[d]);
      allocated = begin;
      released = most;
    }
  }
  num_suspects_ = 0;
  for (size_t i = 0; i < size_; ++i) {
    const Event& event = events_[i];
    const size_t d = event.key & (lanes_ - 1);
    suspects_[num_suspects_] = event;
    num_suspects_ += bins_[BinOf(event) | lanes_] > peak[d];
  }
  Sort();
  in_bin_.assign(num_devices_, -1);
  for (size_t i = 0; i < num_suspects_; ++i) {
    const Event& event = suspects_[i];
    const size_t d = event.key & (lanes_ - 1), bin = BinOf(event) & ~lanes_;
    if (in_bin_[d] != static_cast<std::int64_t>(bin)) {
      in_bin_[d] = static_cast<std::int64_t>(bin);
      used_[d] = bins_[bin];
    }
    used_[d] += event.delta;
    peak[d] = std::max(peak[d], used_[d]);
  }
}

// Sorts the suspects by time, allocations first. Linear if there are many.
void MemoryEvents::Sort() {
  constexpr int kDigitBits = 11;
  constexpr size_t kSmall = 256;
  if (num_suspects_ < kSmall) {
    std::sort(suspects_.begin(),
              suspects_.begin() + static_cast<std::ptrdiff_t>(num_suspects_),
              [](const Event& a, const Event& b) { return a.key < b.key; });
    return;
  }
  std::uint64_t all = 0;
  for (size_t i = 0; i < num_suspects_; ++i) all |= suspects_[i].key;
  const int bits = std::bit_width(all);
  // The device does not matter for the order.
  for (int shift = device_bits_; shift < bits; shift += kDigitBits) {
    std::array<std::uint32_t, 1 << kDigitBits> begin{};
    constexpr std::uint64_t kMask = (1 << kDigitBits) - 1;
    for (size_t i = 0; i < num_suspects_; ++i) ++begin[suspects_[i].key >> shift & kMask];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : begin) sum += std::exchange(count, sum);
    for (size_t i = 0; i < num_suspects_; ++i) {
      scratch_[begin[suspects_[i].key >> shift & kMask]++] = suspects_[i];
    }
    suspects_.swap(scratch_);
  }
}

}  // namespace emplace
