// Loops over flat arrays, each without a branch that depends on the placement.

#include "simulator/queue_memory.h"

#include <algorithm>
#include <bit>

namespace emplace {

QueueMemory::QueueMemory(const CompiledProblem& problem)
    : p_(problem),
      source_(problem.num_items),
      home_(problem.num_items),
      end_(size_t(problem.num_items) * problem.num_devices),
      used_(problem.num_devices),
      // An op's start and finish, an item's end, a copy's start and end.
      events_(problem.num_devices,
              2 * size_t(problem.num_ops) + problem.num_items + 2 * problem.readers.size()) {
  for (int item = 0; item < p_.num_items; ++item) {
    item_of_reader_.insert(
        item_of_reader_.end(), p_.reader_begin[item + 1] - p_.reader_begin[item], item);
  }
}

void QueueMemory::Count(const std::uint8_t* device,
                        const QueueTimes& times,
                        std::vector<std::int64_t>& peak) {
  FindEnds(device, times);
  events_.clear();
  for (int position = 0; position < p_.num_ops; ++position) {
    const int d = device[position];
    const std::int64_t workspace = p_.workspace[position];
    events_.Allocate(times.start[position], d, p_.own_bytes[position] + workspace);
    events_.Release(times.finish[position], d, workspace);
  }
  for (int item = 0; item < p_.num_items; ++item) {
    const Nanos end = end_[home_[item]];
    events_.Release(end, source_[item], end < kMaxNanos ? p_.items[item].released_bytes : 0);
  }
  for (size_t i = 0; i < times.num_copies; ++i) {
    const auto& copy = times.copies[i];
    const std::int64_t bytes = p_.items[copy.item].bytes;
    const Nanos end = end_[size_t(copy.item) * p_.num_devices + copy.device];
    events_.Allocate(copy.start, copy.device, bytes);
    events_.Release(end, copy.device, end < kMaxNanos ? bytes : 0);
  }
  std::fill(used_.begin(), used_.end(), 0);
  p_.AddResidentBytes(device, used_.data());
  events_.Sweep(used_, peak);
}

// Until when every buffer is used.
void QueueMemory::FindEnds(const std::uint8_t* device, const QueueTimes& times) {
  for (int position = 0; position < p_.num_ops; ++position) {
    const int d = device[position];
    for (int item = p_.item_begin[position]; item < p_.item_begin[position + 1]; ++item) {
      source_[item] = d;
      home_[item] = item * p_.num_devices + d;
    }
  }
  pinned_.clear();
  for (const auto& shared : p_.alias_classes) {
    if (shared.root < 0) continue;  // a graph input: resident
    std::uint64_t pinned = p_.PlaceAliases(shared, device, storage_);
    for (size_t i = 0; i < shared.members.size(); ++i) {
      home_[shared.members[i]] = shared.root * p_.num_devices + storage_[i];
    }
    for (; pinned != 0; pinned &= pinned - 1) {
      pinned_.push_back(shared.root * p_.num_devices + std::countr_zero(pinned));
    }
  }

  std::fill(end_.begin(), end_.end(), 0);
  const auto extend = [&](int buffer, Nanos time) { end_[buffer] = std::max(end_[buffer], time); };
  for (int item = 0; item < p_.num_items; ++item) {
    extend(home_[item], times.finish[p_.items[item].producer]);
  }
  for (size_t r = 0; r < p_.readers.size(); ++r) {
    const int item = item_of_reader_[r], reader = p_.readers[r], e = device[reader];
    extend(e == source_[item] ? home_[item] : item * p_.num_devices + e, times.finish[reader]);
  }
  for (size_t i = 0; i < times.num_copies; ++i) {
    extend(home_[times.copies[i].item], times.copies[i].left);
  }
  for (const int buffer : pinned_) end_[buffer] = kMaxNanos;
}

}  // namespace emplace
