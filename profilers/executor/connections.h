#pragma once

// How commands wait for each other when some queues are streams of GPUs and others are groups of
// cores.
//
// Streams wait for each other by events, everything else by the queues' counters. CUDA does not
// know what a stream that waits for a counter waits for. It could put the waiting command in front
// of a GPU command that the cores need before they can raise the counter, and neither would ever
// finish. So a command of a stream that waits for one of the cores also waits, by events, for every
// command of other streams which that one comes after. These have finished by then, so no time is
// lost, and CUDA knows the complete order of GPU commands.

#include <vector>

#include "profilers/executor/queue_plan.h"

namespace emplace {

/// What one command waits for, by index of the commands, and how others wait for it.
struct Connection {
  std::vector<int> events;    ///< commands of other streams, at most one of each
  std::vector<int> counters;  ///< commands of which at least one side is on cores
  bool has_event = false;     ///< another command waits for this one by event
  bool has_counter = false;   ///< likewise by counter
};

/// @return [num_commands]
std::vector<Connection> ConnectCommands(const QueuePlan& queues);

}  // namespace emplace
