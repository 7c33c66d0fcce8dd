#pragma once

// A plan loaded as queues of commands: groups of cores, GPU streams, or both.

#include <memory>
#include <vector>

#include "profilers/executor/command_queue.h"
#include "profilers/executor/plan.h"

namespace emplace {

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
