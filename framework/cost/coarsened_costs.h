#pragma once

// Costs for coarsening: the weights by which it merges ops, and the costs of the merged ops.

#include <vector>

#include "framework/cost/costs.h"
#include "framework/graph/grouping.h"

namespace emplace {

/// Returns the cost of each op on its best device [ns], or 0 for an op that no device may run.
/// Coarsening uses it as weight to choose the ops to merge.
/// @return [num_ops]
std::vector<double> BestDeviceCosts(const Costs& costs);

/// Computes the costs of groups, for the graph that ContractGroups() makes of them. The time is the
/// sum over the members; it is forbidden if one member is forbidden. The cost source is that of the
/// member that takes longest. Uncertainty and interference are means over the members, weighted by
/// their times; interference is rounded to the nearest integer, halves up.
/// @param costs  [num_ops, num_devices]   @param grouping  of the same ops
/// @return [num_groups, num_devices]
Costs ContractCosts(const Costs& costs, const Grouping& grouping);

}  // namespace emplace
