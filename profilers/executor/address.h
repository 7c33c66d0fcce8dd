#pragma once

// Places in the memory that a step works on.

#include <cstdint>

namespace emplace {

/// A place in the arena of a device: the one allocation that holds everything that the device needs
/// for a step. Device kStaging is the host's staging area, where a copy of several hops rests in
/// between.
struct Address {
  int device = 0;           ///< device index, or kStaging
  std::int64_t offset = 0;  ///< [B]
  bool operator==(const Address&) const = default;
};
inline constexpr int kStaging = -1;
inline constexpr std::int64_t kArenaAlignment = 256;  ///< of every buffer [B]

}  // namespace emplace
