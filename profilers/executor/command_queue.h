#pragma once

// Queues of commands, and what runs them. A queue runs its commands in order, each as soon as the
// commands of other queues that it waits for have finished. There are two kinds: a group of cores
// (cpu/core_queues.h) and a stream of a GPU, which the host feeds (stream_queues.h). Which command
// stands in which queue: queue_plan.h. A program of queues: queue_program.h.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "profilers/executor/address.h"
#include "profilers/executor/backend.h"
#include "profilers/executor/step_counter.h"

namespace emplace {

/// The memory that a program works on.
struct ProgramMemory {
  std::vector<std::shared_ptr<std::byte>> arenas;  ///< [num_devices]
  std::shared_ptr<std::byte> staging;
  /// [num_queues] of the queues. Where a GPU takes part, it can write there.
  std::shared_ptr<StepCounter[]> progress;

  std::byte* At(const Address& address) const {
    return (address.device == kStaging ? staging : arenas[address.device]).get() + address.offset;
  }
};

/// One step, as all that run queues see it. Its clock starts when all are ready for it, because
/// waking up is no part of a step.
class StepState {
 public:
  /// For the next step. @param parties  that will call Meet()
  void Reset(bool traced, int parties);
  bool traced() const { return traced_; }
  /// Waits until all parties are here; the last one starts the clock. Returns at once if the step
  /// has failed.
  void Meet();
  Nanos Now() const;  ///< since the start [ns]
  /// From now on nobody waits for another, and no further command is run.
  void Fail() { failed_.store(true, std::memory_order_release); }
  bool has_failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  bool traced_ = false;
  alignas(64) std::atomic<int> missing_{0};         // parties not yet here
  alignas(64) std::atomic<std::int64_t> start_{0};  // steady_clock at the start, 0: not yet [ns]
  alignas(64) std::atomic<bool> failed_{false};
};

/// Runs the queues of one kind. All calls come from one thread, for each step in the order Begin,
/// End, Collect. A queue whose commands are not all run, because the step has failed, raises its
/// counter all the same, so that no GPU waits for ever.
class QueueRunner {
 public:
  virtual ~QueueRunner() = default;
  /// How many parties call StepState::Meet() in a step.
  virtual int num_parties() const = 0;
  /// Gets everything ready and returns. Commands run when the parties have met.
  virtual void Begin(StepState& step) = 0;
  /// Waits for the last command of all queues. Called also for a step that has failed, in Begin()
  /// or elsewhere: then it waits until nothing runs any more.
  /// @return when it had finished, since the start [ns] @throws RunError naming op and device
  virtual Nanos End(StepState& step) = 0;
  /// Enters the times of the commands of a traced step. Called when all runners' queues have ended,
  /// in the order of Begin(). @param record  start and finish: [num_commands]
  virtual void Collect(StepRecord& record) = 0;
  /// Reads what lies in memory. @return false if the device is none of this runner's
  virtual bool Read(const Address& address, std::span<std::byte> bytes) = 0;
};

}  // namespace emplace
