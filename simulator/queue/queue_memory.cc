// The loops run over flat arrays and have no branches that depend on the placement.

#include "simulator/queue/queue_memory.h"

#include <algorithm>
#include <bit>

namespace emplace {

QueueMemory::QueueMemory(const CompiledProblem& problem)
    : p_(problem),
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
  std::int64_t most = 0;  // bytes on a device that holds everything, and a copy of each item
  for (const auto& op : allocated_) most += op.bytes;
  for (const auto& resident : p_.residents) most += resident.bytes;
  for (const std::int64_t bytes : p_.input_bytes) most += bytes;
  for (int item = 0; item < p_.num_items; ++item) {
    const auto& made = p_.items[item];
    most += made.bytes;
    producer_.push_back(made.producer);
    if (made.released_bytes > 0) released_.push_back({item, made.producer, made.released_bytes});
    row_of_reader_.insert(row_of_reader_.end(),
                          p_.reader_begin[item + 1] - p_.reader_begin[item],
                          item * p_.num_devices);
  }
  always_fits_ = most <= *std::min_element(p_.memory.begin(), p_.memory.end());
}

void QueueMemory::Count(const std::uint8_t* device,
                        const QueueTimes& times,
                        std::vector<std::int64_t>& peak) {
  FindEnds(device, times);
  MemoryEvents::Writer events = events_.Begin(times.latest);
  const auto release = [&](int item, int d, std::int64_t bytes) {
    const Nanos end = end_[item * p_.num_devices + d];
    if (end != kMaxNanos) events.Release(end, d, bytes);  // else it is never released
  };
  for (const auto& [position, bytes] : allocated_) {
    events.Allocate(times.start[position], device[position], bytes);
  }
  for (const auto& [position, bytes] : workspaces_) {
    events.Release(times.finish[position], device[position], bytes);
  }
  for (const auto& [item, producer, bytes] : released_) {
    release(item, device[producer], bytes);
  }
  for (size_t i = 0; i < times.num_copies; ++i) {
    const auto& copy = times.copies[i];
    const std::int64_t bytes = p_.items[copy.item].bytes;
    if (bytes == 0) continue;
    events.Allocate(copy.start, copy.device, bytes);
    release(copy.item, copy.device, bytes);
  }
  std::fill(used_.begin(), used_.end(), 0);
  p_.AddResidentBytes(device, used_.data());
  events_.Sweep(events, used_, peak);
}

bool QueueMemory::SurelyFits(const std::uint8_t* device, const QueueTimes& times) {
  if (always_fits_) return true;
  std::fill(used_.begin(), used_.end(), 0);
  p_.AddResidentBytes(device, used_.data());
  for (const auto& [position, bytes] : allocated_) used_[device[position]] += bytes;
  for (size_t i = 0; i < times.num_copies; ++i) {
    used_[times.copies[i].device] += p_.items[times.copies[i].item].bytes;
  }
  for (int d = 0; d < p_.num_devices; ++d) {
    if (used_[d] > p_.memory[d]) return false;
  }
  return true;
}

void QueueMemory::FindEnds(const std::uint8_t* device, const QueueTimes& times) {
  const int num_devices = p_.num_devices;
  Nanos* const end = end_.data();
  std::fill(end_.begin(), end_.end(), 0);
  for (int item = 0; item < p_.num_items; ++item) {
    const int producer = producer_[item];
    end[item * num_devices + device[producer]] = times.finish[producer];
  }
  for (size_t r = 0; r < row_of_reader_.size(); ++r) {
    const int reader = p_.readers[r];
    Nanos& used = end[row_of_reader_[r] + device[reader]];
    used = std::max(used, times.finish[reader]);
  }
  for (size_t i = 0; i < times.num_copies; ++i) {
    const auto& copy = times.copies[i];
    Nanos& used = end[copy.item * num_devices + device[producer_[copy.item]]];
    used = std::max(used, copy.left);
  }
  ShareBuffers(device);
}

// Moves the uses of aliases to the buffers in which they live.
void QueueMemory::ShareBuffers(const std::uint8_t* device) {
  for (const auto& shared : p_.alias_classes) {
    if (shared.root < 0) continue;  // a graph input: resident
    Nanos* const end = &end_[size_t(shared.root) * p_.num_devices];
    std::uint64_t pinned = p_.PlaceAliases(shared, device, storage_);
    for (size_t i = 0; i < shared.members.size(); ++i) {
      const int item = shared.members[i], d = device[producer_[item]];
      end[storage_[i]] = std::max(end[storage_[i]], end_[item * p_.num_devices + d]);
    }
    for (; pinned != 0; pinned &= pinned - 1) end[std::countr_zero(pinned)] = kMaxNanos;
  }
}

}  // namespace emplace
