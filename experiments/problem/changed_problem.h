#pragma once

#include <memory>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

/// The same graph, groups, devices and routes with other figures: what a placement would do if the
/// machine, or what the ops cost on it, were not as assumed.
/// @param kinds     of the cluster's devices, as many as it has
/// @param channels  of the cluster, as many as it has
/// @throws InputError as Cluster and Problem do
std::shared_ptr<const Problem> ChangeProblem(const std::shared_ptr<const Problem>& given,
                                             std::vector<DeviceKind> kinds,
                                             std::vector<Channel> channels,
                                             Costs costs);

}  // namespace emplace
