#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

struct DrawnPlacement {
  std::string label;  ///< "contiguous 3", "blocks 1", "random 0", "all on cpu:1"
  Placement placement;
};

/// Placements spread over quality: single devices, contiguous cuts of the group order at random
/// points, random blocks of it, single groups moved off a contiguous cut, wholly random ones. Every
/// placement is allowed, all differ, and the same seed draws the same.
std::vector<DrawnPlacement> DrawPlacements(const Problem& problem, int count, std::uint64_t seed);

}  // namespace emplace
