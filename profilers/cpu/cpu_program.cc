#include "profilers/cpu/cpu_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

// A helper copies so much before it looks whether its own work is ready.
constexpr std::int64_t kChunkBytes = std::int64_t{128} << 10;

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
      channel_of_stream_(plan_->num_streams(), nullptr),
      progress_(plan_->num_streams()),
      device_end_(plan_->num_devices, 0) {
  EMPLACE_CHECK(plan_->num_devices == static_cast<int>(machine_->devices.size()));
  CheckMemory();
  Link();
  machine_->staging.Touch(plan_->staging_bytes);
  machine_->workers.RunOnAll([this](int worker) {
    if (worker < plan_->num_devices) PrepareDevice(worker);
  });
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
  const auto streams = plan_->CommandsByStream();
  std::vector<std::uint64_t> count(plan_->commands.size());
  for (const auto& stream : streams) {
    for (size_t i = 0; i < stream.size(); ++i) count[stream[i]] = i + 1;
  }
  const auto fill = [&](int index, Command& command) {
    const PlanCommand& planned = plan_->commands[index];
    command.index = index;
    command.announced = planned.is_awaited ? count[index] : 0;
    for (int other : planned.waits) {
      command.waits.push_back({plan_->commands[other].stream, count[other]});
    }
  };
  channels_ = std::vector<Channel>(std::ranges::count_if(streams.begin() + plan_->num_devices,
                                                         streams.end(),
                                                         [](const auto& s) { return !s.empty(); }));
  size_t used = 0;
  for (int s = 0; s < plan_->num_streams(); ++s) {
    if (s < plan_->num_devices) {
      lists_[s].resize(streams[s].size());
      for (size_t i = 0; i < streams[s].size(); ++i) {
        OpCommand& command = lists_[s][i];
        fill(streams[s][i], command);
        const PlannedOp& op = plan_->ops[plan_->commands[command.index].op];
        for (const Address& a : op.inputs) command.inputs.push_back(PointerTo(a));
        for (const Address& a : op.outputs) command.outputs.push_back(PointerTo(a));
      }
    } else if (!streams[s].empty()) {
      Channel& channel = channels_[used++];
      channel.stream = s;
      channel_of_stream_[s] = &channel;
      channel.commands.resize(streams[s].size());
      for (size_t i = 0; i < streams[s].size(); ++i) {
        CopyCommand& command = channel.commands[i];
        fill(streams[s][i], command);
        const PlanCommand& planned = plan_->commands[command.index];
        if (planned.bytes == 0) continue;
        command.moves = true;
        command.copy = PackedCopy(planned.layout);
        command.source = PointerTo(planned.source);
        for (const Address& a : planned.destinations) command.destinations.push_back(PointerTo(a));
      }
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
  for (OpCommand& command : lists_[d]) {
    const PlannedOp& op = plan_->ops[plan_->commands[command.index].op];
    for (const KernelCall& call : op.work.calls) {
      try {
        command.kernels.push_back(device.Kernel(call, static_cast<int>(group.cores.size())));
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
  for (Channel& channel : channels_) {
    channel.next.store(0, std::memory_order_relaxed);
    channel.copied = 0;
    channel.end = 0;
  }
  missing_ = plan_->num_devices;
  start_ = 0;
  open_channels_ = static_cast<int>(channels_.size());
  failed_ = false;

  machine_->workers.RunOnAll([this](int worker) { RunWorker(worker); });

  for (Nanos end : device_end_) record_.step_time = std::max(record_.step_time, end);
  for (const Channel& channel : channels_) {
    record_.step_time = std::max(record_.step_time, channel.end);
  }
  return std::move(record_);
}

Nanos CpuProgram::Now() const {
  return SteadyNanos() - start_.load(std::memory_order_relaxed);
}

void CpuProgram::RunWorker(int worker) {
  try {
    if (worker < plan_->num_devices) RunDevice(worker);
    SpinWait spin;
    while (open_channels_.load(std::memory_order_acquire) > 0 &&
           !failed_.load(std::memory_order_relaxed)) {
      if (!HelpAny(nullptr)) spin.Turn();
    }
  } catch (...) {
    failed_ = true;
    throw;
  }
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
  for (const OpCommand& command : lists_[device]) {
    if (!WaitFor(command)) return;
    if (traced_) record_.start[command.index] = Now();
    if (!command.kernels.empty()) RunOp(device, command);
    if (traced_) record_.finish[command.index] = Now();
    Announce(device, command);
  }
  device_end_[device] = Now();
}

void CpuProgram::RunOp(int device, const OpCommand& command) {
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

bool CpuProgram::Passed(const Wait& wait) const {
  return progress_[wait.stream].value.load(std::memory_order_acquire) >= base_ + wait.count;
}

bool CpuProgram::IsReady(const Command& command) const {
  for (const Wait& wait : command.waits) {
    if (!Passed(wait)) return false;
  }
  return true;
}

void CpuProgram::Announce(int stream, const Command& command) {
  if (command.announced == 0) return;
  progress_[stream].value.store(base_ + command.announced, std::memory_order_release);
}

bool CpuProgram::WaitFor(const Command& command) {
  for (const Wait& wait : command.waits) {
    SpinWait spin;
    while (!Passed(wait)) {
      if (failed_.load(std::memory_order_relaxed)) return false;
      Channel* const wanted = channel_of_stream_[wait.stream];
      if (wanted != nullptr && Help(*wanted, &command)) continue;
      if (!HelpAny(&command)) spin.Turn();
    }
  }
  return !failed_.load(std::memory_order_relaxed);
}

bool CpuProgram::Help(Channel& channel, const Command* own) {
  const int size = static_cast<int>(channel.commands.size());
  // First without the lock, so that its cache line stays with the worker that copies.
  int next = channel.next.load(std::memory_order_relaxed);
  if (next >= size || channel.busy.load(std::memory_order_relaxed) ||
      !IsReady(channel.commands[next]) || channel.busy.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  bool helped = false;
  next = channel.next.load(std::memory_order_relaxed);
  while (next < size && IsReady(channel.commands[next])) {
    const CopyCommand& command = channel.commands[next];
    if (traced_ && channel.copied == 0) record_.start[command.index] = Now();
    if (command.moves && channel.copied < command.copy.bytes()) {
      const std::int64_t begin = channel.copied;
      for (std::byte* destination : command.destinations) {
        channel.copied = command.copy.Copy(command.source, destination, begin, kChunkBytes);
      }
    }
    helped = true;
    if (!command.moves || channel.copied == command.copy.bytes()) {
      if (traced_) record_.finish[command.index] = Now();
      channel.copied = 0;
      channel.next.store(++next, std::memory_order_relaxed);
      if (next == size) channel.end = Now();
      Announce(channel.stream, command);
      if (next == size) open_channels_.fetch_sub(1, std::memory_order_acq_rel);
    }
    if (own != nullptr && IsReady(*own)) break;
  }
  channel.busy.store(false, std::memory_order_release);
  return helped;
}

bool CpuProgram::HelpAny(const Command* own) {
  bool helped = false;
  for (Channel& channel : channels_) {
    helped |= Help(channel, own);
    if (helped && own != nullptr && IsReady(*own)) break;
  }
  return helped;
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
