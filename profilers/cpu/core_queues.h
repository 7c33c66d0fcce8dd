#pragma once

// Queues that are groups of pinned cores, with or without GPUs in the same program.
//
// The worker of a group runs the ops of its device and the copies of its queue (queue_plan.h) in
// order. A command starts when the counters of the queues that it waits for have reached the
// required values; until then the worker spins. All waits are for commands that come earlier in the
// plan, so queues cannot deadlock.

#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "profilers/cpu/cpu_machine.h"
#include "profilers/cpu/packed_copy.h"
#include "profilers/executor/command_queue.h"
#include "profilers/executor/queue_plan.h"

namespace emplace {

class CoreQueues : public QueueRunner {
 public:
  /// Prepares kernels and writes initial values, each on its group's worker.
  /// @param device_of_group  [machine's groups] device of the plan
  /// @throws RunError naming op and device if a kernel cannot be prepared
  CoreQueues(std::shared_ptr<CpuMachine> machine,
             std::vector<int> device_of_group,
             std::shared_ptr<const ExecutionPlan> plan,
             const QueuePlan& queues,
             ProgramMemory memory);

  int num_parties() const override { return static_cast<int>(queues_.size()); }
  void Begin(StepState& step) override;
  Nanos End(StepState& step) override;
  void Collect(StepRecord& record) override;
  bool Read(const Address& address, std::span<std::byte> bytes) override;

 private:
  struct Wait {
    const StepCounter* counter = nullptr;
    std::uint64_t count = 0;  // commands of the other queue that must have finished
  };
  struct Command {
    int index = 0;  // in the plan
    std::vector<Wait> waits;
    std::uint64_t announced = 0;  // value of the queue's counter after it; 0: not awaited
    Nanos start = 0, finish = 0;  // of the latest traced step [ns]
  };
  struct OpCommand : Command {
    std::vector<CpuKernel*> kernels;
    std::vector<void*> inputs, outputs;
  };
  struct CopyCommand : Command {
    PackedCopy copy{{}};
    bool moves = false;  // false: a control edge
    const std::byte* source = nullptr;
    std::vector<std::byte*> destinations;
  };
  struct Queue {
    int device = 0;  // of the plan
    std::vector<std::variant<OpCommand, CopyCommand>> commands;
    StepCounter* progress = nullptr;
    Nanos end = 0;  // of the latest step [ns]
  };

  void Fill(int group, const QueuePlan& queues);
  void Prepare(int group);
  void RunQueue(int group, StepState& step);
  void Run(int group, OpCommand& command);
  void Run(int group, CopyCommand& command);

  std::shared_ptr<CpuMachine> machine_;
  std::shared_ptr<const ExecutionPlan> plan_;
  ProgramMemory memory_;
  std::vector<Queue> queues_;  // [groups]
  std::function<void(int)> job_;
};

}  // namespace emplace
