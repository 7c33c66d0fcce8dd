#include "profilers/cpu/core_queues.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/executor/spin_wait.h"

namespace emplace {
namespace {

// Waits for the given counters. Returns false if the step has failed.
template <class Waits>
bool AwaitAll(const Waits& waits, const StepState& step) {
  for (const auto& wait : waits) {
    SpinWait spin;
    while (!HasReached(*wait.counter, wait.count)) {
      if (step.has_failed()) return false;
      spin.Turn();
    }
  }
  return !step.has_failed();
}

}  // namespace

CoreQueues::CoreQueues(std::shared_ptr<CpuMachine> machine,
                       std::vector<int> device_of_group,
                       std::shared_ptr<const ExecutionPlan> plan,
                       const QueuePlan& queues,
                       ProgramMemory memory)
    : machine_(std::move(machine)), plan_(std::move(plan)), memory_(std::move(memory)) {
  EMPLACE_CHECK(device_of_group.size() == machine_->groups.size());
  for (int device : device_of_group) queues_.push_back({.device = device});
  for (int group = 0; group < num_parties(); ++group) Fill(group, queues);
  machine_->workers.RunOnAll([this](int worker) { Prepare(worker); });
}

// Fills in the queue's commands with all addresses as pointers. Prepare() adds the kernels.
void CoreQueues::Fill(int group, const QueuePlan& queues) {
  Queue& queue = queues_[group];
  queue.progress = &memory_.progress[queue.device];
  const auto pointers = [&](const std::vector<Address>& addresses, auto& to) {
    for (const Address& address : addresses) to.push_back(memory_.At(address));
  };
  for (int index : queues.lists[queue.device]) {
    const PlanCommand& planned = plan_->commands[index];
    const auto fill = [&](Command& command) {
      command.index = index;
      if (queues.is_awaited[index]) command.announced = queues.number[index];
      for (int other : queues.waits[index]) {
        const auto count = static_cast<std::uint64_t>(queues.number[other]);
        command.waits.push_back({&memory_.progress[queues.queue_of_command[other]], count});
      }
    };
    if (planned.type == PlanCommand::Type::kOp) {
      OpCommand command;
      fill(command);
      pointers(plan_->ops[planned.op].inputs, command.inputs);
      pointers(plan_->ops[planned.op].outputs, command.outputs);
      queue.commands.emplace_back(std::move(command));
    } else {
      CopyCommand command;
      fill(command);
      if (planned.bytes > 0) {
        command.moves = true;
        command.copy = PackedCopy(planned.layout);
        command.source = memory_.At(planned.source);
        pointers(planned.destinations, command.destinations);
      }
      queue.commands.emplace_back(std::move(command));
    }
  }
}

void CoreQueues::Prepare(int g) {
  CpuDevice& device = *machine_->devices[g];
  const CpuGroup& group = machine_->groups[g];
  for (const InitialValue& value : plan_->initial_values) {
    if (value.address.device != queues_[g].device) continue;
    std::ranges::copy(InitialBytes(value), memory_.At(value.address));
  }
  for (auto& entry : queues_[g].commands) {
    OpCommand* const command = std::get_if<OpCommand>(&entry);
    if (command == nullptr) continue;
    const CompiledOp& op = plan_->ops[plan_->commands[command->index].op];
    for (const KernelCall& call : op.work.calls) {
      try {
        command->kernels.push_back(device.Kernel(call, static_cast<int>(group.cores.size())));
      } catch (const std::exception& error) {
        throw RunError(
            fmt::format("op \"{}\" on device \"{}\": {}", op.name, group.name, error.what()));
      }
    }
  }
}

void CoreQueues::Begin(StepState& step) {
  job_ = [this, &step](int worker) { RunQueue(worker, step); };
  machine_->workers.Start(job_);
}

Nanos CoreQueues::End(StepState& /*step*/) {
  machine_->workers.Wait();
  Nanos end = 0;
  for (const Queue& queue : queues_) end = std::max(end, queue.end);
  return end;
}

void CoreQueues::RunQueue(int group, StepState& step) {
  Queue& queue = queues_[group];
  step.Meet();
  try {
    for (auto& entry : queue.commands) {
      const bool done = std::visit(
          [&](auto& command) {
            if (!AwaitAll(command.waits, step)) return false;
            if (step.traced()) command.start = step.Now();
            Run(group, command);
            if (step.traced()) command.finish = step.Now();
            if (command.announced > 0) Raise(*queue.progress, command.announced);
            return true;
          },
          entry);
      if (!done) break;
    }
  } catch (...) {
    step.Fail();
    Raise(*queue.progress, queue.commands.size());
    throw;
  }
  if (step.has_failed()) Raise(*queue.progress, queue.commands.size());
  queue.end = step.Now();
}

void CoreQueues::Run(int group, OpCommand& command) {
  if (command.kernels.empty()) return;
  CpuDevice& here = *machine_->devices[group];
  void* const scratch = here.scratch ? here.scratch->data() : nullptr;
  try {
    for (CpuKernel* kernel : command.kernels) {
      kernel->Run(command.inputs.data(), command.outputs.data(), scratch);
    }
  } catch (const std::exception& error) {
    throw RunError(fmt::format("op \"{}\" on device \"{}\": {}",
                               plan_->ops[plan_->commands[command.index].op].name,
                               machine_->groups[group].name,
                               error.what()));
  }
}

void CoreQueues::Run(int /*group*/, CopyCommand& command) {
  if (!command.moves) return;
  for (std::byte* destination : command.destinations) {
    command.copy.Copy(command.source, destination);
  }
}

void CoreQueues::Collect(StepRecord& record) {
  for (const Queue& queue : queues_) {
    for (const auto& entry : queue.commands) {
      std::visit(
          [&](const Command& command) {
            record.start[command.index] = command.start;
            record.finish[command.index] = command.finish;
          },
          entry);
    }
  }
}

bool CoreQueues::Read(const Address& address, std::span<std::byte> bytes) {
  if (std::ranges::find(queues_, address.device, &Queue::device) == queues_.end()) return false;
  std::memcpy(bytes.data(), memory_.At(address), bytes.size());
  return true;
}

}  // namespace emplace
