#pragma once

// Devices that are groups of pinned cores. Each runs its list of commands on a worker thread of its
// own and spins while it waits. Copies between devices are done, chunk by chunk and in each
// channel's order, by any worker that is waiting at the moment, so that they take no time from a
// core that has work. cpu_program.h says how a step runs.

#include <memory>
#include <vector>

#include "profilers/executor/backend.h"

namespace emplace {

/// A device to be: some cores of this machine.
struct CpuGroup {
  std::string name;        ///< "cpu:0"
  std::vector<int> cores;  ///< numbers as the operating system counts them
};

/// Takes the cores of all groups; a device's kernels use as many threads as it has cores.
/// @param groups  at least one @throws InputError for an empty group or a core in two groups,
/// naming them; RunError if a thread cannot be pinned
std::shared_ptr<Backend> MakeCpuBackend(std::vector<CpuGroup> groups);

/// Cores this process may use, ascending, as the operating system numbers them.
std::vector<int> AllowedCores();

}  // namespace emplace
