#pragma once

// Lays out the memory of one device before a step runs: an offset for every buffer, where buffers
// that are never in use at the same time may share bytes.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace emplace {

/// Where the buffers of one device lie.
struct ArenaLayout {
  std::vector<std::int64_t> offsets;  ///< [num_buffers], multiples of kArenaAlignment [B]
  std::int64_t bytes = 0;             ///< of the whole arena [B]
};

/// Greedy by size: the largest buffer first, each into the smallest gap that fits between those
/// already placed that it may not share bytes with, else behind them (Pisarchyk and Lee, Efficient
/// Memory Management for Deep Neural Net Inference, 2020). Not optimal. Buffers of 0 bytes take no
/// room.
/// @param bytes        [num_buffers] [B]
/// @param in_conflict  whether two buffers are in use at the same time; symmetric
ArenaLayout LayOutArena(std::span<const std::int64_t> bytes,
                        const std::function<bool(int, int)>& in_conflict);

}  // namespace emplace
