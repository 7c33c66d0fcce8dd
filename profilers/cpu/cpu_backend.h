#pragma once

// Devices that are groups of pinned cores. Each runs its list of commands on a worker thread of its
// own and spins for what it waits for; copies between the arenas are done by whichever core of the
// machine waits at that moment (so that a copy costs no core that has work), chunk by chunk, in
// each channel's order.

#include <memory>
#include <vector>

#include "profilers/executor/backend.h"

namespace emplace {

struct CpuGroup {
  std::string name;        ///< "cpu:0"
  std::vector<int> cores;  ///< numbers as the operating system counts them
};

/// @throws InputError for an empty group or a core in two groups; RunError if a thread cannot be
/// pinned
std::shared_ptr<Backend> MakeCpuBackend(std::vector<CpuGroup> groups);

/// Cores this process may use, ascending.
std::vector<int> AllowedCores();

}  // namespace emplace
