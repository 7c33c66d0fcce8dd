#pragma once

// Draws test placements, to measure whole steps or to compare simulation and measurement.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

/// A placement and a label of its origin.
struct LabelledPlacement {
  std::string label;  ///< family and number: "contiguous 3", "scheduled 2"; or "all on cpu:1"
  Placement placement;
};

/// Draws placements of all qualities. The first ones put everything on one device, for each device.
/// Then each family gives one placement in turn:
///   contiguous  the group order cut at random points, a device for each piece
///   random      every group on any device
///   moved       a contiguous one with up to a tenth of the groups elsewhere
///   blocks      3 to 16 pieces of the group order, each on any device
///   scheduled   group after group to the device that finishes it first, by costs that are off by
///               up to a factor of two; a share of the groups, drawn per placement, goes anywhere
/// A group that may not run on the drawn device goes to the next device on which it is allowed. All
/// placements are allowed and differ from each other. They may exceed the devices' memory.
///
/// The same seed draws the same placements, and a longer list begins with the shorter one.
/// @return `count` placements; fewer if the families find no more different ones
/// @throws InputError for a negative count
std::vector<LabelledPlacement> DrawPlacements(const Problem& problem,
                                              int count,
                                              std::uint64_t seed);

}  // namespace emplace
