#pragma once

// The positions of the buffers of a program in their arenas. Two buffers share bytes only if one is
// filled after all uses of the other, by the order of commands alone.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "profilers/executor/buffers.h"
#include "profilers/executor/command_order.h"

namespace emplace {

struct ArenaLayout {
  std::vector<std::int64_t> offsets;  ///< [num_buffers], multiples of kArenaAlignment [B]
  std::int64_t bytes = 0;             ///< of the whole arena [B]
};

/// Lays out the buffers greedily in descending order of size. Each buffer goes into the smallest
/// sufficient gap between the placed buffers that it conflicts with, or after all of them if no gap
/// suffices (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020).
/// The layout is not optimal. Buffers of 0 bytes take no room.
/// @param bytes        [num_buffers] [B]
/// @param in_conflict  whether two buffers are in use at the same time; symmetric
ArenaLayout LayOutArena(std::span<const std::int64_t> bytes,
                        const std::function<bool(int, int)>& in_conflict);

struct BufferPlacement {
  std::vector<std::int64_t> offsets;      ///< [buffers] [B]
  std::vector<std::int64_t> arena_bytes;  ///< [num_devices] [B]
  std::int64_t staging_bytes = 0;         ///< [B]
};

/// @param stream_of_command  [num_commands]
/// @param order              of the commands
BufferPlacement PlaceBuffers(std::span<const Buffer> buffers,
                             int num_devices,
                             std::span<const int> stream_of_command,
                             const CommandOrder& order);

}  // namespace emplace
