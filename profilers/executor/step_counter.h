#pragma once

// How far a queue of commands has come in a step, told to the other queues through memory: threads
// and GPUs raise counters, and wait until they have been raised far enough.

#include <atomic>
#include <cstdint>

namespace emplace {

/// Commands that have finished, from 0 in each step. Alone on its cache line. Not a std::atomic,
/// because a GPU may be the writer.
struct alignas(64) StepCounter {
  std::uint64_t value = 0;
};

/// Whether a counter has been raised to `count`; if so, all that came before is visible.
inline bool HasReached(const StepCounter& counter, std::uint64_t count) {
  std::atomic_ref<std::uint64_t> value(const_cast<StepCounter&>(counter).value);
  return value.load(std::memory_order_acquire) >= count;
}

/// Sets a counter, behind all that the calling thread has done before.
inline void Raise(StepCounter& counter, std::uint64_t count) {
  std::atomic_ref<std::uint64_t>(counter.value).store(count, std::memory_order_release);
}

}  // namespace emplace
