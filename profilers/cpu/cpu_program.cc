#include "profilers/cpu/cpu_program.h"

#include <numeric>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/cpu/core_queues.h"
#include "profilers/executor/command_queue.h"

namespace emplace {
namespace {

void RequireRoom(const CpuMachine& machine, const ExecutionPlan& plan) {
  EMPLACE_CHECK(plan.num_devices == static_cast<int>(machine.devices.size()));
  for (int d = 0; d < plan.num_devices; ++d) {
    if (plan.arena_bytes[d] <= machine.memory_per_device) continue;
    throw RunError(fmt::format("device \"{}\": the placement takes {} B, the device has {} B",
                               machine.groups[d].name,
                               plan.arena_bytes[d],
                               machine.memory_per_device));
  }
  if (plan.staging_bytes > machine.staging.size()) {
    throw RunError(fmt::format("staging area: copies of several hops take {} B, the host has {} B",
                               plan.staging_bytes,
                               machine.staging.size()));
  }
}

// Returns the machine's own memory. Each group touches its arena, so that the pages are close to
// its cores.
ProgramMemory TakeMemory(const std::shared_ptr<CpuMachine>& machine, const ExecutionPlan& plan) {
  RequireRoom(*machine, plan);
  machine->staging.Touch(plan.staging_bytes);
  machine->workers.RunOnAll(
      [&](int worker) { machine->devices[worker]->arena.Touch(plan.arena_bytes[worker]); });
  ProgramMemory memory;
  for (const auto& device : machine->devices) {
    memory.arenas.emplace_back(machine, device->arena.data());
  }
  memory.staging = {machine, machine->staging.data()};
  memory.progress = std::make_shared<StepCounter[]>(plan.num_streams());
  return memory;
}

}  // namespace

std::unique_ptr<Program> LoadCpuProgram(std::shared_ptr<CpuMachine> machine,
                                        std::shared_ptr<const ExecutionPlan> plan) {
  const ProgramMemory memory = TakeMemory(machine, *plan);
  const std::vector<QueueKind> kinds(plan->num_devices, QueueKind::kCores);
  std::vector<int> device_of_group(plan->num_devices);
  std::iota(device_of_group.begin(), device_of_group.end(), 0);
  std::vector<std::unique_ptr<QueueRunner>> runners;
  runners.push_back(std::make_unique<CoreQueues>(
      std::move(machine), std::move(device_of_group), plan, PlanQueues(*plan, kinds), memory));
  return std::make_unique<QueueProgram>(std::move(plan), memory, std::move(runners));
}

}  // namespace emplace
