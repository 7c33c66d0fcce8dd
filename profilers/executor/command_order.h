#pragma once

// The waits of the commands of a program. Streams run their commands in order, so a command waits
// only for commands of other streams. It does not wait for commands that its other waits imply.
// Vector clocks record which commands have certainly finished when a command starts.

#include <span>
#include <vector>

#include "profilers/executor/buffers.h"

namespace emplace {

/// [num_streams] number of commands of each stream that have certainly finished.
using StreamClock = std::vector<int>;

struct CommandOrder {
  std::vector<std::vector<int>> waits;  ///< [num_commands] ascending, none implied by another
  std::vector<int> position;            ///< [num_commands] in its stream
  std::vector<StreamClock> done;        ///< [num_commands] after the command itself has finished
  int hazard_waits = 0;                 ///< waits due to a hazard that no dependency requires
};

/// Finds the last commands before each that access the same buffer and do not commute with it.
/// @param accesses  [num_commands]
/// @return [num_commands] commands, possibly with repetitions
std::vector<std::vector<int>> FindHazards(std::span<const std::vector<BufferAccess>> accesses,
                                          int num_buffers);

/// Computes the waits in one pass in issue order.
/// @param stream_of_command  [num_commands]
/// @param dependencies, hazards  [num_commands] earlier commands that must have finished
CommandOrder OrderCommands(std::span<const int> stream_of_command,
                           int num_streams,
                           std::span<const std::vector<int>> dependencies,
                           std::span<const std::vector<int>> hazards);

}  // namespace emplace
