#pragma once

// Queues of commands and their runners. A queue runs its commands in order. Each command starts as
// soon as the commands of other queues that it waits for have finished. There are two kinds of
// queues: a group of cores (cpu/core_queues.h) and a stream of a GPU, which the host feeds
// (stream_queues.h). queue_plan.h assigns commands to queues.

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

struct ProgramMemory {
  std::vector<std::shared_ptr<std::byte>> arenas;  ///< [num_devices]
  std::shared_ptr<std::byte> staging;
  /// [num_queues] counters of the queues. If a GPU takes part, it can write to them.
  std::shared_ptr<StepCounter[]> progress;

  std::byte* At(const Address& address) const {
    return (address.device == kStaging ? staging : arenas[address.device]).get() + address.offset;
  }
};

/// The state of one step that all runners share. The clock starts when all runners are ready,
/// because waking up is not part of a step.
class StepState {
 public:
  /// Prepares the next step.
  /// @param parties  number of parties that will call Meet()
  void Reset(bool traced, int parties);
  bool traced() const { return traced_; }
  /// Waits until all parties have called it. The last one starts the clock. Returns at once if the
  /// step has failed.
  void Meet();
  Nanos Now() const;  ///< since the start [ns]
  /// Ends all waits. No further command runs.
  void Fail() { failed_.store(true, std::memory_order_release); }
  bool has_failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  bool traced_ = false;
  alignas(64) std::atomic<int> missing_{0};         // parties that have not arrived
  alignas(64) std::atomic<std::int64_t> start_{0};  // steady_clock at the start, 0 before it [ns]
  alignas(64) std::atomic<bool> failed_{false};
};

/// Runs the queues of one kind. All calls come from one thread, for each step in the order Begin,
/// End, Collect. If a step fails before all commands of a queue have run, the queue still raises
/// its counter to the end, so that no GPU waits forever.
class QueueRunner {
 public:
  virtual ~QueueRunner() = default;
  /// Returns the number of parties that call StepState::Meet() in a step.
  virtual int num_parties() const = 0;
  /// Prepares the step and returns. Commands run once the parties have met.
  virtual void Begin(StepState& step) = 0;
  /// Waits for the last command of all queues. Also called for a step that has failed, in Begin()
  /// or elsewhere; then it waits until no command is running.
  /// @return time of the last finish since the start [ns]
  /// @throws RunError naming op and device
  virtual Nanos End(StepState& step) = 0;
  /// Writes the times of the commands of a traced step. Called after the queues of all runners have
  /// ended, in the order of Begin().
  /// @param record  start and finish: [num_commands]
  virtual void Collect(StepRecord& record) = 0;
  /// Reads bytes from memory.
  /// @return false if the device does not belong to this runner
  virtual bool Read(const Address& address, std::span<std::byte> bytes) = 0;
};

/// A plan loaded as queues of commands: groups of cores, GPU streams, or both.
class QueueProgram : public Program {
 public:
  /// @param memory   of the runners, with initial values set
  /// @param runners  begin a step in this order and end it in reverse order. Cores come before
  ///   streams, so that the thread that feeds the streams is the last to call StepState::Meet().
  QueueProgram(std::shared_ptr<const ExecutionPlan> plan,
               ProgramMemory memory,
               std::vector<std::unique_ptr<QueueRunner>> runners);

  StepRecord Step(bool traced) override;
  std::vector<std::byte> ReadTensor(Address address, std::int64_t bytes) override;

 private:
  std::shared_ptr<const ExecutionPlan> plan_;
  ProgramMemory memory_;
  std::vector<std::unique_ptr<QueueRunner>> runners_;
  StepState step_;
};

}  // namespace emplace
