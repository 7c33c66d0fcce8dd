#pragma once

// Static memory of one device: where every buffer lies, once it is known which of them may share
// bytes.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace emplace {

struct ArenaLayout {
  std::vector<std::int64_t> offsets;  ///< [num_buffers], multiples of kArenaAlignment [B]
  std::int64_t bytes = 0;             ///< of the whole arena [B]
};

/// Greedy by size: the largest buffer first, each into the smallest gap between those that it may
/// not share bytes with (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net
/// Inference, 2020). Buffers of 0 bytes take no room.
/// @param bytes        [num_buffers] [B]
/// @param in_conflict  of two buffers, symmetric: both hold something at the same time
ArenaLayout LayOutArena(std::span<const std::int64_t> bytes,
                        const std::function<bool(int, int)>& in_conflict);

}  // namespace emplace
