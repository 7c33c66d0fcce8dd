#pragma once

// The positions of the buffers of a program in their arenas. Two buffers share bytes only if one is
// filled after all uses of the other.

#include <cstdint>
#include <span>
#include <vector>

#include "profilers/executor/buffers.h"
#include "profilers/executor/command_order.h"

namespace emplace {

struct BufferPlacement {
  std::vector<std::int64_t> offsets;      ///< [buffers] [B]
  std::vector<std::int64_t> arena_bytes;  ///< [num_devices] [B]
  std::int64_t staging_bytes = 0;         ///< [B]
  /// [num_commands] earlier commands that must have finished because the command fills bytes that
  /// they used. Empty lists with kNoWaits, where the order of commands guarantees this.
  std::vector<std::vector<int>> waits;
};

/// @param stream_of_command  [num_commands]
/// @param order              of the commands, without such waits
BufferPlacement PlaceBuffers(std::span<const Buffer> buffers,
                             int num_devices,
                             std::span<const int> stream_of_command,
                             const CommandOrder& order,
                             MemoryReuse reuse);

}  // namespace emplace
