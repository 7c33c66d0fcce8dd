#pragma once

// Finds a grouping of the units and a device per group that lead to a given placement: the
// decisions with which the two networks would have drawn it.

#include <vector>

#include "framework/learn/matrix.h"
#include "framework/search/problem.h"

namespace emplace {

struct FittedGroups {
  std::vector<int> group_of_unit;    ///< [num_units]
  std::vector<int> device_of_group;  ///< [G]; -1: the group has no units
};

/// Returns groups whose devices give exactly `placement` if there are at least as many groups as
/// devices in it. The grouping stays as close to the grouper's preferences as that allows:
/// 1. Each unit is put into its most probable group (the first of equals), and each group gets the
///    device that most of its units have.
/// 2. Every device of the placement that has no group gets one: an empty group if there is one,
///    otherwise the group with the most units of this device among the groups whose current device
///    has a further group.
/// 3. Each unit moves to its most probable group among the groups of its device.
/// With fewer groups than devices, units whose device has no group stay in their most probable
/// group.
/// @param logits  [num_units, G]
FittedGroups FitGroups(const Problem& problem, const Placement& placement, const Matrix& logits);

}  // namespace emplace
