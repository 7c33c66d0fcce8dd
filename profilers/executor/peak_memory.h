#pragma once

// The peak memory of a program by the rules of stream semantics (simulator/README.md, "Memory in
// S"). StreamMemory (framework/schedule), which the simulator also uses, determines the buffers
// that an op allocates and frees; the commands determine the copies.

#include <cstdint>
#include <span>
#include <vector>

#include "profilers/executor/issued_commands.h"

namespace emplace {

/// @param device_of_op  [num_ops]
/// @param order         [num_ops] in which the commands were issued
/// @return most bytes in use at the same time [num_devices] [B]
std::vector<std::int64_t> PeakMemory(const Graph& graph,
                                     int num_devices,
                                     std::span<const DeviceIndex> device_of_op,
                                     std::span<const int> order,
                                     const IssuedCommands& issued);

}  // namespace emplace
