#include "profilers/executor/command_queue.h"

#include <chrono>

#include "profilers/executor/spin_wait.h"

namespace emplace {
namespace {

std::int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void StepState::Reset(bool traced, int parties) {
  traced_ = traced;
  missing_ = parties;
  start_ = 0;
  failed_ = false;
}

void StepState::Meet() {
  if (missing_.fetch_sub(1) == 1) {
    start_.store(SteadyNanos());
    return;
  }
  SpinWait spin;
  while (start_.load() == 0 && !has_failed()) spin.Turn();
}

Nanos StepState::Now() const {
  return SteadyNanos() - start_.load(std::memory_order_relaxed);
}

}  // namespace emplace
