// Loops over flat arrays, without branches that depend on the placement.

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
  for (int position = 0; position < p_.num_ops; ++position) {
    const std::int64_t workspace = p_.workspace[position];
    const std::int64_t allocated = p_.own_bytes[position] + workspace;
    if (allocated > 0) allocated_.push_back({position, allocated});
    if (workspace > 0) workspaces_.push_back({position, workspace});
  }
  for (int item = 0; item < p_.num_items; ++item) {
    const auto& made = p_.items[item];
    producer_.push_back(made.producer);
    if (made.released_bytes > 0) released_.push_back({item, made.producer, made.released_bytes});
    item_of_reader_.insert(
        item_of_reader_.end(), p_.reader_begin[item + 1] - p_.reader_begin[item], item);
  }
}

void QueueMemory::Count(const std::uint8_t* device,
                        const QueueTimes& times,
                        std::vector<std::int64_t>& peak) {
  FindEnds(device, times);
  MemoryEvents::Writer events = events_.Begin(times.latest);
  // A buffer that is never released has an event of 0 bytes.
  const auto release = [&](int buffer, int d, std::int64_t bytes) {
    const Nanos end = end_[buffer];
    const bool kept = end == kMaxNanos;
    events.Release(kept ? 0 : end, d, kept ? 0 : bytes);
  };
  for (const auto& [position, bytes] : allocated_) {
    events.Allocate(times.start[position], device[position], bytes);
  }
  for (const auto& [position, bytes] : workspaces_) {
    events.Release(times.finish[position], device[position], bytes);
  }
  for (const auto& [item, producer, bytes] : released_) {
    release(home_[item], device[producer], bytes);
  }
  for (size_t i = 0; i < times.num_copies; ++i) {
    const auto& copy = times.copies[i];
    const std::int64_t bytes = p_.items[copy.item].bytes;
    events.Allocate(copy.start, copy.device, bytes);
    release(copy.item * p_.num_devices + copy.device, copy.device, bytes);
  }
  std::fill(used_.begin(), used_.end(), 0);
  p_.AddResidentBytes(device, used_.data());
  events_.Sweep(events, used_, peak);
}

// Until when every buffer is used.
void QueueMemory::FindEnds(const std::uint8_t* device, const QueueTimes& times) {
  const int num_devices = p_.num_devices;
  Nanos* const end = end_.data();
  std::fill(end_.begin(), end_.end(), 0);
  for (int item = 0; item < p_.num_items; ++item) {
    const int producer = producer_[item], d = device[producer];
    source_[item] = d;
    home_[item] = item * num_devices + d;
    end[home_[item]] = times.finish[producer];
  }
  if (!p_.alias_classes.empty()) ShareBuffers(device, times);
  for (size_t r = 0; r < item_of_reader_.size(); ++r) {
    const int item = item_of_reader_[r], reader = p_.readers[r], e = device[reader];
    const int home = home_[item], received = item * num_devices + e;
    const int buffer = e == source_[item] ? home : received;
    end[buffer] = std::max(end[buffer], times.finish[reader]);
  }
  for (size_t i = 0; i < times.num_copies; ++i) {
    const int buffer = home_[times.copies[i].item];
    end[buffer] = std::max(end[buffer], times.copies[i].left);
  }
  for (const int buffer : pinned_) end[buffer] = kMaxNanos;
}

// The buffers that aliases live in, and which of them are never released.
void QueueMemory::ShareBuffers(const std::uint8_t* device, const QueueTimes& times) {
  pinned_.clear();
  for (const auto& shared : p_.alias_classes) {
    if (shared.root < 0) continue;  // a graph input: resident
    std::uint64_t pinned = p_.PlaceAliases(shared, device, storage_);
    for (size_t i = 0; i < shared.members.size(); ++i) {
      const int item = shared.members[i], buffer = shared.root * p_.num_devices + storage_[i];
      home_[item] = buffer;
      end_[buffer] = std::max(end_[buffer], times.finish[producer_[item]]);
    }
    for (; pinned != 0; pinned &= pinned - 1) {
      pinned_.push_back(shared.root * p_.num_devices + std::countr_zero(pinned));
    }
  }
}

}  // namespace emplace
