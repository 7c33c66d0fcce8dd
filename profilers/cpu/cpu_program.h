#pragma once

// A plan whose devices are all groups of cores.

#include <memory>

#include "profilers/cpu/cpu_machine.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// Loads a plan; core_queues.h describes how it runs. Touches all memory in advance to avoid page
/// faults in a step, prepares kernels and writes initial values.
/// @param plan  device d is the machine's group d
/// @throws RunError naming device and bytes if the plan does not fit, op and device if a kernel
///   cannot be prepared
std::unique_ptr<Program> LoadCpuProgram(std::shared_ptr<CpuMachine> machine,
                                        std::shared_ptr<const ExecutionPlan> plan);

}  // namespace emplace
