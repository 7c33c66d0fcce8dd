#pragma once

// What the commands of a program wait for. Streams run their commands in order, so a command waits
// for commands of other streams only, and not for those that other waits imply: vector clocks say
// what has finished for sure when a command starts.

#include <span>
#include <vector>

#include "profilers/executor/buffers.h"

namespace emplace {

/// [num_streams] how many commands of each have finished for sure.
using StreamClock = std::vector<int>;

struct CommandOrder {
  std::vector<std::vector<int>> waits;  ///< [num_commands] ascending, none implied by another
  std::vector<int> position;            ///< [num_commands] in its stream
  std::vector<StreamClock> done;        ///< [num_commands] when it has finished itself
  int hazard_waits = 0;                 ///< waits that no dependency asks for, but a hazard
  int memory_waits = 0;                 ///< likewise that only `for_memory` asks for
};

/// The last commands before each that touch the same buffer in a way that does not commute with
/// what it does.
/// @param accesses  [num_commands]
/// @return [num_commands] commands, possibly some twice
std::vector<std::vector<int>> FindHazards(std::span<const std::vector<BufferAccess>> accesses,
                                          int num_buffers);

/// One pass in issue order: before each command everything earlier has its waits.
/// @param stream_of_command  [num_commands]
/// @param dependencies, hazards, for_memory  [num_commands] earlier commands that must have
///   finished; the last one may be empty
CommandOrder OrderCommands(std::span<const int> stream_of_command,
                           int num_streams,
                           std::span<const std::vector<int>> dependencies,
                           std::span<const std::vector<int>> hazards,
                           std::span<const std::vector<int>> for_memory = {});

}  // namespace emplace
