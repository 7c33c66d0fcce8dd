#include "profilers/cpu/cpu_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

std::int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

CpuProgram::CpuProgram(std::shared_ptr<CpuMachine> machine,
                       std::shared_ptr<const ExecutionPlan> plan)
    : machine_(std::move(machine)),
      plan_(std::move(plan)),
      lists_(plan_->num_devices),
      progress_(plan_->num_streams()),
      device_end_(plan_->num_devices, 0) {
  EMPLACE_CHECK(plan_->num_devices == static_cast<int>(machine_->devices.size()));
  CheckMemory();
  Link();
  machine_->staging.Touch(plan_->staging_bytes);
  machine_->workers.RunOnAll([this](int worker) { PrepareDevice(worker); });
}

void CpuProgram::CheckMemory() const {
  for (int d = 0; d < plan_->num_devices; ++d) {
    if (plan_->arena_bytes[d] <= machine_->memory_per_device) continue;
    throw RunError(fmt::format("device \"{}\": the placement takes {} B, the device has {} B",
                               machine_->groups[d].name,
                               plan_->arena_bytes[d],
                               machine_->memory_per_device));
  }
  if (plan_->staging_bytes > machine_->staging.size()) {
    throw RunError(fmt::format("staging area: copies of several hops take {} B, the host has {} B",
                               plan_->staging_bytes,
                               machine_->staging.size()));
  }
}

std::byte* CpuProgram::PointerTo(const Address& address) const {
  const ReservedMemory& memory =
      address.device == kStaging ? machine_->staging : machine_->devices[address.device]->arena;
  return memory.data() + address.offset;
}

// The plan's commands as lists, all addresses as pointers; kernels come later.
void CpuProgram::Link() {
  std::vector<std::uint64_t> count(plan_->num_streams(), 0);  // commands of each stream so far
  std::vector<std::uint64_t> number(plan_->commands.size());
  std::vector<int> worker(plan_->commands.size());  // of each command
  std::vector<int> last(plan_->num_streams(), -1);  // command of each stream
  const auto wait_for = [&](int other, Command& command) {
    command.waits.push_back({plan_->commands[other].stream, number[other]});
  };
  for (int index = 0; index < static_cast<int>(plan_->commands.size()); ++index) {
    const PlanCommand& planned = plan_->commands[index];
    const bool is_copy = planned.type == PlanCommand::Type::kCopy;
    const int s = planned.stream;
    number[index] = ++count[s];
    if (!is_copy) {
      worker[index] = s;
    } else if (planned.source.device != kStaging) {
      worker[index] = planned.source.device;
    } else {
      EMPLACE_CHECK(!planned.waits.empty());  // for the hop before it
      worker[index] = worker[planned.waits.front()];
    }
    const auto fill = [&](Command& command) {
      command.index = index;
      command.stream = s;
      command.announced = planned.is_awaited || is_copy ? number[index] : 0;
      for (int other : planned.waits) wait_for(other, command);
      // A stream's commands are made in their order, whoever makes them.
      if (last[s] >= 0 && worker[last[s]] != worker[index]) wait_for(last[s], command);
      last[s] = index;
    };
    if (is_copy) {
      CopyCommand command;
      fill(command);
      if (planned.bytes > 0) {
        command.moves = true;
        command.copy = PackedCopy(planned.layout);
        command.source = PointerTo(planned.source);
        for (const Address& a : planned.destinations) command.destinations.push_back(PointerTo(a));
      }
      lists_[worker[index]].emplace_back(std::move(command));
    } else {
      OpCommand command;
      fill(command);
      for (const Address& a : plan_->ops[planned.op].inputs) command.inputs.push_back(PointerTo(a));
      for (const Address& a : plan_->ops[planned.op].outputs)
        command.outputs.push_back(PointerTo(a));
      lists_[s].emplace_back(std::move(command));
    }
  }
}

void CpuProgram::PrepareDevice(int d) {
  CpuDevice& device = *machine_->devices[d];
  const CpuGroup& group = machine_->groups[d];
  device.arena.Touch(plan_->arena_bytes[d]);
  for (const InitialValue& value : plan_->initial_values) {
    if (value.address.device != d) continue;
    std::ranges::copy(InitialBytes(value), PointerTo(value.address));
  }
  for (auto& entry : lists_[d]) {
    OpCommand* const command = std::get_if<OpCommand>(&entry);
    if (command == nullptr) continue;
    const PlannedOp& op = plan_->ops[plan_->commands[command->index].op];
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

StepRecord CpuProgram::Step(bool traced) {
  traced_ = traced;
  record_ = {};
  if (traced) {
    record_.start.resize(plan_->commands.size());
    record_.finish.resize(plan_->commands.size());
  }
  base_ += std::uint64_t{1} << 32;
  missing_ = plan_->num_devices;
  start_ = 0;
  failed_ = false;

  machine_->workers.RunOnAll([this](int worker) {
    try {
      RunDevice(worker);
    } catch (...) {
      failed_ = true;
      throw;
    }
  });

  for (Nanos end : device_end_) record_.step_time = std::max(record_.step_time, end);
  return std::move(record_);
}

Nanos CpuProgram::Now() const {
  return SteadyNanos() - start_.load(std::memory_order_relaxed);
}

// The clock starts when the last device is awake, because waking up is no part of a step.
void CpuProgram::MeetAtStart() {
  if (missing_.fetch_sub(1) == 1) {
    start_.store(SteadyNanos());
    return;
  }
  SpinWait spin;
  while (start_.load() == 0) spin.Turn();
}

void CpuProgram::RunDevice(int device) {
  MeetAtStart();
  for (auto& entry : lists_[device]) {
    const bool done = std::visit(
        [&](auto& command) {
          if (!WaitFor(command)) return false;
          if (traced_) record_.start[command.index] = Now();
          Run(device, command);
          if (traced_) record_.finish[command.index] = Now();
          if (command.announced > 0) {
            progress_[command.stream].value.store(base_ + command.announced,
                                                  std::memory_order_release);
          }
          return true;
        },
        entry);
    if (!done) return;
  }
  device_end_[device] = Now();
}

void CpuProgram::Run(int device, OpCommand& command) {
  if (command.kernels.empty()) return;
  CpuDevice& here = *machine_->devices[device];
  void* const scratch = here.scratch ? here.scratch->data() : nullptr;
  try {
    for (CpuKernel* kernel : command.kernels) {
      kernel->Run(command.inputs.data(), command.outputs.data(), scratch);
    }
  } catch (const std::exception& error) {
    throw RunError(fmt::format("op \"{}\" on device \"{}\": {}",
                               plan_->ops[plan_->commands[command.index].op].name,
                               machine_->groups[device].name,
                               error.what()));
  }
}

void CpuProgram::Run(int /*device*/, CopyCommand& command) {
  if (!command.moves) return;
  for (std::byte* destination : command.destinations) {
    command.copy.Copy(command.source, destination, 0, command.copy.bytes());
  }
}

bool CpuProgram::Passed(const Wait& wait) const {
  return progress_[wait.stream].value.load(std::memory_order_acquire) >= base_ + wait.count;
}

bool CpuProgram::WaitFor(const Command& command) {
  for (const Wait& wait : command.waits) {
    SpinWait spin;
    while (!Passed(wait)) {
      if (failed_.load(std::memory_order_relaxed)) return false;
      spin.Turn();
    }
  }
  return !failed_.load(std::memory_order_relaxed);
}

std::vector<std::byte> CpuProgram::ReadTensor(Address address, std::int64_t bytes) {
  const auto holds = [&](const std::vector<Address>& addresses) {
    return std::ranges::find(addresses, address) != addresses.end();
  };
  const bool known =
      std::ranges::any_of(
          plan_->ops, [&](const PlannedOp& op) { return holds(op.inputs) || holds(op.outputs); }) ||
      std::ranges::any_of(plan_->commands,
                          [&](const PlanCommand& c) { return holds(c.destinations); });
  const bool on_device = address.device >= 0 && address.device < plan_->num_devices;
  if (!known || !on_device || bytes < 0 ||
      address.offset + bytes > plan_->arena_bytes[address.device]) {
    throw InputError(fmt::format("the plan holds no tensor of {} B at byte {} of device {}",
                                 bytes,
                                 address.offset,
                                 address.device));
  }
  const std::byte* const begin = PointerTo(address);
  return {begin, begin + bytes};
}

}  // namespace emplace
