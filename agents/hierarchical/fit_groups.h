#pragma once

// Groups and their devices that lead to a placement: what the two networks would have had to draw.

#include <vector>

#include "framework/learn/matrix.h"
#include "framework/search/problem.h"

namespace emplace {

struct FittedGroups {
  std::vector<int> group_of_unit;    ///< [num_units]
  std::vector<int> device_of_group;  ///< [G]; -1: the group has no units
};

/// Groups whose devices give exactly `placement`, if there are at least as many groups as devices
/// in it, and as near to what the grouper prefers as that allows. Each unit is put into its most
/// probable group (the first of equals), each group gets the device that most of its units have.
/// Every device of the placement that no group has then gets one: an empty group, or else that with
/// the most of its units among those whose device has another group. Last, each unit goes to its
/// most probable group among those of its device. With fewer groups than devices, units whose
/// device no group has stay in their most probable group.
/// @param logits  [num_units, G]
FittedGroups FitGroups(const Problem& problem, const Placement& placement, const Matrix& logits);

}  // namespace emplace
