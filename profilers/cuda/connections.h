#pragma once

// How the commands of a plan find each other when some streams are on GPUs ("lanes") and others are
// threads of the host. Plain host code.
//
// GPU streams wait for each other by events, everything else by counters in host memory. A GPU
// stream that waits for a counter does so behind CUDA's back: CUDA could queue the waiting command
// in front of one that the host needs to get there, and all would stand still. So a GPU command
// that waits for a host command also waits, by events, for every GPU command that the host command
// is behind. They have finished by then, so no time is lost, and the order that CUDA sees is the
// whole order among GPU commands.

#include <span>
#include <vector>

#include "profilers/executor/plan.h"

namespace emplace::cuda {

struct Connection {
  std::vector<int> events;    ///< GPU commands of other lanes to wait for, at most one per lane
  std::vector<int> counters;  ///< commands to wait for at the border to the host and within it
  bool has_event = false;     ///< another command waits for this one by event
  bool has_counter = false;   ///< likewise by counter
};

/// @param lane_of_stream  [num_streams] index of a GPU stream; -1: the host
/// @return [num_commands]
std::vector<Connection> ConnectCommands(std::span<const PlanCommand> commands,
                                        std::span<const int> lane_of_stream);

}  // namespace emplace::cuda
