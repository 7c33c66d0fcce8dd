#pragma once

#include <vector>

#include "framework/search/problem.h"

namespace emplace {

/// Returns a partition of the problem's groups that cuts few bytes: MergeCheapest() with the
/// groups' mean costs. If more than `num_parts` sets of groups have no neighbours, some share a
/// part.
/// @return [num_groups] part in [0, num_parts)
std::vector<int> MergedGroups(const Problem& problem, int num_parts);

}  // namespace emplace
