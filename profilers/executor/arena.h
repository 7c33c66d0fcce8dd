#pragma once

// Lays out the memory of one device before a step runs. Every buffer gets an offset. Buffers that
// are never in use at the same time may share bytes.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

}  // namespace emplace
