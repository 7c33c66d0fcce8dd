// Finds the peaks without sorting all events. Time is divided into equal bins, and the bytes
// allocated and released in each are added up. Within a bin, the bytes in use on a device are at
// most
//
//   bytes in use at its beginning + all bytes allocated in it
//
// and the peak is at least the bytes in use at the end of any bin. Only the bins that may exceed
// this, usually a few, have their events sorted.

#include "simulator/engine/memory_events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace emplace {
namespace {

// Sorts the first `size` elements by key_of(element), an unsigned number. Elements whose keys
// differ only in the bits below `low_bit` are in any order. Takes linear time for large sizes.
// @param scratch  as long as `elements`, overwritten
template <class Element, class KeyOf>
void RadixSort(std::vector<Element>& elements,
               std::vector<Element>& scratch,
               size_t size,
               int low_bit,
               KeyOf key_of) {
  constexpr size_t kSmall = 64;
  if (size < kSmall) {
    std::sort(elements.begin(),
              elements.begin() + static_cast<std::ptrdiff_t>(size),
              [&](const Element& a, const Element& b) { return key_of(a) < key_of(b); });
    return;
  }
  std::uint64_t least = UINT64_MAX, most = 0;
  for (size_t i = 0; i < size; ++i) {
    least = std::min<std::uint64_t>(least, key_of(elements[i]));
    most = std::max<std::uint64_t>(most, key_of(elements[i]));
  }
  constexpr int kDigitBits = 8;
  constexpr std::uint64_t kMask = (1 << kDigitBits) - 1;
  least = least >> low_bit << low_bit;
  const int bits = std::bit_width(most - least);
  for (int shift = low_bit; shift < bits; shift += kDigitBits) {
    std::array<std::uint32_t, 1 << kDigitBits> begin{};
    for (size_t i = 0; i < size; ++i) ++begin[(key_of(elements[i]) - least) >> shift & kMask];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : begin) sum += std::exchange(count, sum);
    for (size_t i = 0; i < size; ++i) {
      scratch[begin[(key_of(elements[i]) - least) >> shift & kMask]++] = elements[i];
    }
    elements.swap(scratch);
  }
}

}  // namespace

MemoryEvents::MemoryEvents(int num_devices, size_t capacity)
    : num_devices_(num_devices),
      device_bits_(std::bit_width(static_cast<unsigned>(num_devices - 1))),
      // A bin has a few events of a device on average.
      bin_bits_(std::bit_width(capacity >> (device_bits_ + kEventsPerBinBits))),
      device_columns_(size_t{1} << device_bits_),
      events_(capacity + 1),
      suspects_(capacity + 1),
      scratch_(capacity + 1),
      bins_(2 * device_columns_ << bin_bits_),
      used_(num_devices) {
}

MemoryEvents::Writer MemoryEvents::Begin(Nanos latest) {
  const int time_bits = std::bit_width(static_cast<std::uint64_t>(latest));
  Writer writer;
  writer.end_ = events_.data();
  writer.bins_ = bins_.data();
  writer.device_bits_ = device_bits_;
  writer.shift_ = device_bits_ + 1 + std::max(0, time_bits - bin_bits_);
  std::fill(bins_.begin(), bins_.end(), 0);
  return writer;
}

void MemoryEvents::Sweep(const Writer& written,
                         const std::vector<std::int64_t>& used,
                         std::vector<std::int64_t>& peak) {
  // The bytes in use at the beginning of each bin replace the sum of its allocations, and an upper
  // bound of the bytes in use within it replaces the sum of its releases.
  peak = used;
  used_ = used;
  for (size_t bin = 0; bin < bins_.size(); bin += 2 * device_columns_) {
    for (int d = 0; d < num_devices_; ++d) {
      std::int64_t &allocated = bins_[bin + d], &released = bins_[bin + device_columns_ + d];
      const std::int64_t begin = used_[d], most = begin + allocated;
      used_[d] = most + released;
      peak[d] = std::max(peak[d], used_[d]);
      allocated = begin;
      released = most;
    }
  }
  size_t num_suspects = 0;
  for (const Event* event = events_.data(); event != written.end_; ++event) {
    const size_t d = event->key & (device_columns_ - 1);
    suspects_[num_suspects] = *event;
    num_suspects += bins_[written.BinOf(event->key) + device_columns_ + d] > peak[d];
  }
  RadixSort(suspects_, scratch_, num_suspects, device_bits_, [](const Event& e) { return e.key; });
  bin_of_device_.assign(num_devices_, -1);
  for (size_t i = 0; i < num_suspects; ++i) {
    const Event& event = suspects_[i];
    const size_t d = event.key & (device_columns_ - 1), bin = written.BinOf(event.key);
    if (bin_of_device_[d] != static_cast<std::int64_t>(bin)) {
      bin_of_device_[d] = static_cast<std::int64_t>(bin);
      used_[d] = bins_[bin + d];
    }
    used_[d] += event.delta;
    peak[d] = std::max(peak[d], used_[d]);
  }
}

}  // namespace emplace
