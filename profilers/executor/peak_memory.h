#pragma once

// What a program holds in memory by the rules of stream semantics (simulator/README.md, "Memory in
// S"). StreamMemory (framework/schedule), which the simulator counts with, knows which buffers an
// op takes and leaves; the commands say what was sent where.

#include <cstdint>
#include <span>
#include <vector>

#include "profilers/executor/issued_commands.h"

namespace emplace {

/// @param device_of_op  [num_ops]    @param order  [num_ops] that the commands were issued in
/// @return most bytes alive at once [num_devices] [B]
std::vector<std::int64_t> PeakMemory(const Graph& graph,
                                     int num_devices,
                                     std::span<const DeviceIndex> device_of_op,
                                     std::span<const int> order,
                                     const IssuedCommands& issued);

}  // namespace emplace
