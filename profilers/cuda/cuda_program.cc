#include "profilers/cuda/cuda_program.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "profilers/cpu/core_queues.h"
#include "profilers/cuda/cuda_streams.h"
#include "profilers/executor/command_queue.h"
#include "profilers/executor/stream_queues.h"

namespace emplace::cuda {

namespace {

std::shared_ptr<StepCounter[]> PinnedCounters(int count) {
  const Memory memory =
      AllocatePinned(static_cast<std::int64_t>(count * sizeof(StepCounter)), "step counters");
  auto* const counters = reinterpret_cast<StepCounter*>(memory.get());
  std::fill_n(counters, count, StepCounter{});
  return {memory, counters};
}

// Allocates the arenas of GPUs on the GPU, and those of cores in page-locked memory, which copy
// engines can access.
ProgramMemory TakeMemory(Devices& devices, const ExecutionPlan& plan) {
  ProgramMemory memory;
  for (int d = 0; d < devices.size(); ++d) {
    Device& device = devices[d];
    Devices::Grow(device.arena, plan.arena_bytes[d], device.gpu, device.name);
    memory.arenas.push_back(device.arena.memory);
  }
  Devices::Grow(devices.staging(), plan.staging_bytes, std::nullopt, "staging");
  memory.staging = devices.staging().memory;
  memory.progress = PinnedCounters(plan.num_streams());
  return memory;
}

bool HasCommandsOf(const QueuePlan& queues, QueueKind kind) {
  for (int q = 0; q < queues.num_queues(); ++q) {
    if (queues.kinds[q] == kind && !queues.lists[q].empty()) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Program> LoadProgram(std::shared_ptr<Devices> devices,
                                     std::shared_ptr<const ExecutionPlan> plan,
                                     DispatchMode mode) {
  EMPLACE_CHECK(plan->num_devices == devices->size());
  std::vector<QueueKind> kinds;
  std::vector<std::string> names;
  for (int d = 0; d < devices->size(); ++d) {
    kinds.push_back((*devices)[d].gpu ? QueueKind::kStream : QueueKind::kCores);
    names.push_back((*devices)[d].name);
  }
  const QueuePlan queues = PlanQueues(*plan, kinds);
  const ProgramMemory memory = TakeMemory(*devices, *plan);
  std::vector<std::unique_ptr<QueueRunner>> runners;
  if (HasCommandsOf(queues, QueueKind::kCores)) {
    runners.push_back(std::make_unique<CoreQueues>(
        devices->cpu_machine(), devices->device_of_group(), plan, queues, memory));
  }
  if (HasCommandsOf(queues, QueueKind::kStream)) {
    runners.push_back(
        std::make_unique<StreamQueues>(plan,
                                       queues,
                                       std::move(names),
                                       std::make_unique<CudaStreams>(devices, plan, queues, memory),
                                       memory.progress,
                                       PinnedCounters(1 + queues.num_queues()),
                                       mode));
  }
  return std::make_unique<QueueProgram>(std::move(plan), memory, std::move(runners));
}

}  // namespace emplace::cuda
