#pragma once

#include <memory>

#include "profilers/cuda/devices.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

/// Loads a plan on GPUs and groups of cores, as queues of both kinds (executor/command_queue.h).
/// cuda_backend.h describes how it runs.
/// @throws RunError naming device and bytes if memory runs out, or op and device if a kernel cannot
///   be prepared
std::unique_ptr<Program> LoadProgram(std::shared_ptr<Devices> devices,
                                     std::shared_ptr<const ExecutionPlan> plan,
                                     DispatchMode mode);

}  // namespace emplace::cuda
