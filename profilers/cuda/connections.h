#pragma once

// How the commands of a plan wait for each other when some streams are on GPUs ("lanes") and others
// are threads of the host. Makes no CUDA calls.
//
// GPU streams wait for each other by events, everything else by counters in host memory. CUDA does
// not know what a GPU stream that waits for a counter waits for. It could put the waiting command
// in front of a GPU command that the host needs before it can raise the counter, and neither would
// ever finish. So a GPU command that waits for a host command also waits, by events, for every GPU
// command which that host command comes after. These have finished by then, so no time is lost, and
// CUDA knows the complete order of GPU commands.

#include <span>
#include <vector>

#include "profilers/executor/plan.h"

namespace emplace::cuda {

/// What one command waits for, by index of the commands, and how others wait for it.
struct Connection {
  std::vector<int> events;    ///< GPU commands of other lanes, at most one per lane
  std::vector<int> counters;  ///< commands of which at least one side is on the host
  bool has_event = false;     ///< another command waits for this one by event
  bool has_counter = false;   ///< likewise by counter
};

/// @param lane_of_stream  [num_streams] index of a GPU stream; -1: the host
/// @return [num_commands]
std::vector<Connection> ConnectCommands(std::span<const PlanCommand> commands,
                                        std::span<const int> lane_of_stream);

}  // namespace emplace::cuda
