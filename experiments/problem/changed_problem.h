#pragma once

#include <memory>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

/// Returns the same graph, groups, devices and routes with other figures, for evaluating placements
/// on a machine, or with costs, that differ from the assumed ones.
/// @param kinds     kinds of the cluster's devices, as many as it has
/// @param channels  channels of the cluster, as many as it has
/// @throws InputError as Cluster and Problem do
std::shared_ptr<const Problem> ChangeProblem(const std::shared_ptr<const Problem>& given,
                                             std::vector<DeviceKind> kinds,
                                             std::vector<Channel> channels,
                                             Costs costs);

}  // namespace emplace
