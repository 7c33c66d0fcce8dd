#pragma once

// Placements and decisions from a fractional solution of the linear program over sets
// (set_cover.h).

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "framework/bounds/equal_devices.h"
#include "framework/bounds/set_programme.h"
#include "framework/placement/placement.h"

namespace emplace {

/// A set of groups on a device of a class.
struct ClassSet {
  std::size_t of_class = 0;
  GroupSet groups;  ///< ascending
};

/// A set of a solution.
struct WeightedSet : ClassSet {
  double weight = 0;
};

/// Returns the two groups that share a set most nearly by half, with the more likely decision:
/// groups that share an item, or else any two. Returns nothing if no groups are partly together.
std::optional<PairDecision> PairToDecide(std::span<const WeightedSet> sets,
                                         const std::vector<EqualDevices>& classes);

/// Makes a placement. Takes the sets one after another, the one first whose new groups, times its
/// weight, are the most. Groups that are left join the device whose load is then the least.
/// @return [num_groups]; empty if a group may run on no device
std::vector<DeviceIndex> RoundSets(std::span<const WeightedSet> sets,
                                   const std::vector<EqualDevices>& classes);

}  // namespace emplace
