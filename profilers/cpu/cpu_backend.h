#pragma once

// Devices that are groups of pinned cores. Each runs its queue of commands on a worker thread of
// its own and spins while it waits. Copies between devices are made by the worker of the source.
// core_queues.h says how a step runs.

#include <memory>
#include <vector>

#include "profilers/executor/backend.h"

namespace emplace {

/// A device to be: some cores of this machine.
struct CpuGroup {
  std::string name;        ///< "cpu:0"
  std::vector<int> cores;  ///< numbers as the operating system counts them
};

struct CpuMachine;

/// Takes the cores of all groups; a device's kernels use as many threads as it has cores.
/// @param groups  at least one @throws InputError for an empty group or a core in two groups,
/// naming them; RunError if a thread cannot be pinned
std::shared_ptr<Backend> MakeCpuBackend(std::vector<CpuGroup> groups);
/// The same on a machine that others use, too; not while a step of theirs runs.
std::shared_ptr<Backend> CpuBackendOn(std::shared_ptr<CpuMachine> machine);
/// The groups' workers and memory (cpu_machine.h). @throws as MakeCpuBackend()
std::shared_ptr<CpuMachine> OpenCpuMachine(std::vector<CpuGroup> groups);

/// Cores this process may use, ascending, as the operating system numbers them.
std::vector<int> AllowedCores();

}  // namespace emplace
