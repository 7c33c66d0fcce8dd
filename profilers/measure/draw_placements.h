#pragma once

// Test placements: some to measure whole steps under, some to compare simulation and reality on.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

/// A placement, and how it was drawn.
struct LabelledPlacement {
  std::string label;  ///< family and number: "contiguous 3", "scheduled 2"; or "all on cpu:1"
  Placement placement;
};

/// Placements of all qualities. First everything on one device, for each device; then in turn one
/// of each family:
///   contiguous  the group order cut at random points, a device for each piece
///   random      every group anywhere
///   moved       a contiguous one with up to a tenth of the groups elsewhere
///   blocks      3 to 16 pieces of the group order, each anywhere
///   scheduled   group after group to the device that finishes it first, by costs that are off by
///               up to a factor of two; a share of the groups, drawn per placement, goes anywhere
/// A group that may not run where it is drawn goes to the next device that takes it. All placements
/// are allowed and differ from each other. They may exceed the devices' memory.
///
/// The same seed draws the same placements, and a longer list begins with the shorter one.
/// @return `count` placements; fewer if the families find no more different ones
/// @throws InputError for a negative count
std::vector<LabelledPlacement> DrawPlacements(const Problem& problem,
                                              int count,
                                              std::uint64_t seed);

}  // namespace emplace
