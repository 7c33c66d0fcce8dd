#pragma once

// Costs for coarsening: what merging ops goes by, and what the merged ops cost.

#include <vector>

#include "framework/cost/costs.h"
#include "framework/graph/grouping.h"

namespace emplace {

/// The cost of each op on its best device [ns]; 0 for an op that no device may run. The weight by
/// which coarsening chooses what to merge.
/// @return [num_ops]
std::vector<double> BestDeviceCosts(const Costs& costs);

/// Costs of the groups, for the graph that ContractGroups() makes of them: the time is the sum over
/// the members, forbidden where one of them is; the rung is that of the member that takes longest;
/// the uncertainty and the interference are means of the members', weighted by their times; those
/// of interference are rounded to the nearest, halves up.
/// @param costs  [num_ops, num_devices]   @param grouping  of the same ops
/// @return [num_groups, num_devices]
Costs ContractCosts(const Costs& costs, const Grouping& grouping);

}  // namespace emplace
