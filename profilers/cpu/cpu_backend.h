#pragma once

// Devices that are groups of pinned cores. Each runs its queue of commands on its own worker
// thread, which spins while it waits. The worker of the source copies data to other devices.
// core_queues.h describes how a step runs.

#include <memory>
#include <vector>

#include "profilers/executor/backend.h"

namespace emplace {

struct CpuGroup {
  std::string name;        ///< "cpu:0"
  std::vector<int> cores;  ///< numbers of the operating system
};

struct CpuMachine;

/// Makes a backend with a device per group. A device's kernels use as many threads as it has cores.
/// @param groups  at least one
/// @throws InputError for an empty group or a core in two groups, naming them
/// @throws RunError if a thread cannot be pinned
std::shared_ptr<Backend> MakeCpuBackend(std::vector<CpuGroup> groups);
/// Makes a backend on a machine that others share. Their steps must not overlap.
std::shared_ptr<Backend> CpuBackendOn(std::shared_ptr<CpuMachine> machine);
/// Starts the workers of the groups and reserves their memory (cpu_machine.h).
/// @throws as MakeCpuBackend()
std::shared_ptr<CpuMachine> OpenCpuMachine(std::vector<CpuGroup> groups);

/// Returns the cores that this process may use, ascending, numbered by the operating system.
std::vector<int> AllowedCores();

}  // namespace emplace
