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

// As many columns of bins as a vector register has.
typedef std::int64_t Columns __attribute__((vector_size(32)));
constexpr size_t kColumns = 4;

Columns Load(const std::int64_t* from) {
  Columns columns;
  __builtin_memcpy(&columns, from, sizeof columns);
  return columns;
}
void Store(Columns columns, std::int64_t* to) {
  __builtin_memcpy(to, &columns, sizeof columns);
}

}  // namespace

MemoryEvents::MemoryEvents(int num_devices, size_t capacity)
    : num_devices_(num_devices),
      device_bits_(std::bit_width(static_cast<unsigned>(std::max<int>(num_devices, kColumns)) - 1)),
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
  // The bytes in use at the beginning of each bin replace the sum of its allocations. An upper
  // bound of the bytes in use within it replaces the sum of its releases, and then whether that is
  // above the peak so far.
  used_.assign(device_columns_, 0);
  std::copy(used.begin(), used.end(), used_.begin());
  peak.resize(device_columns_);
  std::int64_t* const bins = bins_.data();
  const size_t columns = device_columns_, end = bins_.size();
  for (size_t d = 0; d < columns; d += kColumns) {
    Columns now = Load(&used_[d]), most = now;
    for (size_t bin = d; bin < end; bin += 2 * columns) {
      const Columns begin = now, bound = begin + Load(bins + bin);
      now = bound + Load(bins + bin + columns);
      most = now > most ? now : most;
      Store(begin, bins + bin);
      Store(bound, bins + bin + columns);
    }
    for (size_t bin = d + columns; bin < end; bin += 2 * columns) {
      Store(Load(bins + bin) > most, bins + bin);
    }
    Store(most, &peak[d]);
  }
  peak.resize(num_devices_);
  size_t num_suspects = 0;
  for (const Event* event = events_.data(); event != written.end_; ++event) {
    const size_t d = event->key & (device_columns_ - 1);
    suspects_[num_suspects] = *event;
    num_suspects -= bins[written.BinOf(event->key) + columns + d];
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
