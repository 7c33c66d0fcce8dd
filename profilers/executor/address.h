#pragma once

// Addresses in the memory of a step.

#include <cstdint>

namespace emplace {

/// A position in the arena of a device. The arena is one allocation that holds all buffers of the
/// device for a step. Device kStaging is the staging area of the host, which holds a copy between
/// two hops.
struct Address {
  int device = 0;           ///< device index, or kStaging
  std::int64_t offset = 0;  ///< [B]
  bool operator==(const Address&) const = default;
};
inline constexpr int kStaging = -1;
inline constexpr std::int64_t kArenaAlignment = 256;  ///< of every buffer [B]

}  // namespace emplace
