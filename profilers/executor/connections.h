#pragma once

// The waits between commands when some queues are streams of GPUs and others are groups of cores.
//
// Streams wait for each other by events; all other waits use the counters of the queues. If a
// stream waits for a counter, CUDA does not know which command raises it. CUDA could schedule the
// waiting command before a GPU command that the cores need before they can raise the counter, and
// neither would ever finish. Therefore a stream command that waits for a command of the cores also
// waits, by events, for every command of other streams that precedes it. These commands have
// finished by then, so the events cost no time, and CUDA knows the complete order of GPU commands.

#include <vector>

#include "profilers/executor/queue_plan.h"

namespace emplace {

/// The waits of one command, as indices of commands, and the signals that others wait for.
struct Connection {
  std::vector<int> events;    ///< commands of other streams, at most one of each
  std::vector<int> counters;  ///< commands, at least one side of the wait is on cores
  bool has_event = false;     ///< another command waits for this one by event
  bool has_counter = false;   ///< another command waits for this one by counter
};

/// @return [num_commands]
std::vector<Connection> ConnectCommands(const QueuePlan& queues);

}  // namespace emplace
