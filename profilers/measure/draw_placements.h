#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

struct DrawnPlacement {
  std::string
      label;  ///< "contiguous 3", "blocks 1", "moved 0", "random 0", "scheduled 2", "all on cpu:1"
  Placement placement;
};

/// Placements spread over quality: single devices, contiguous cuts of the group order at random
/// points, random blocks of it, single groups moved off a contiguous cut, wholly random ones, and
/// list schedules by wrong costs with a random share of the groups anywhere. Every placement is
/// allowed, all differ, and the same seed draws the same; a longer list begins with the shorter
/// one. A group that may not run where it is drawn goes to the next device that takes it. Fewer
/// than `count` only where the problem has no more placements of these families to find. Memory is
/// not looked at.
/// @throws InputError for a negative count
std::vector<DrawnPlacement> DrawPlacements(const Problem& problem, int count, std::uint64_t seed);

}  // namespace emplace
