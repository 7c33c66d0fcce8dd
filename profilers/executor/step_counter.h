#pragma once

// The progress of a queue of commands in a step, shared with other queues through memory. Threads
// and GPUs raise counters, and wait for counters to reach a value.

#include <atomic>
#include <cstdint>

namespace emplace {

/// Number of commands that have finished in the current step. The counter has a cache line of its
/// own. It is not a std::atomic, because a GPU may be the writer.
struct alignas(64) StepCounter {
  std::uint64_t value = 0;
};

/// Returns whether a counter has reached `count`. If so, all earlier writes are visible.
inline bool HasReached(const StepCounter& counter, std::uint64_t count) {
  std::atomic_ref<std::uint64_t> value(const_cast<StepCounter&>(counter).value);
  return value.load(std::memory_order_acquire) >= count;
}

/// Sets a counter after all earlier writes of the calling thread.
inline void Raise(StepCounter& counter, std::uint64_t count) {
  std::atomic_ref<std::uint64_t>(counter.value).store(count, std::memory_order_release);
}

}  // namespace emplace
