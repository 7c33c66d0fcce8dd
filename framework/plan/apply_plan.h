#pragma once

#include <memory>
#include <span>
#include <vector>

#include "framework/graph/grouping.h"
#include "framework/placement/placement.h"
#include "framework/plan/plan.h"
#include "framework/plan/planned_graph.h"
#include "framework/plan/replicas.h"

namespace emplace {

/// Applies a plan to the graph of a step: Recompute(), CopyMicroBatches(), Replicate() and, by its
/// settings, ShardUpdate(). The result
/// is an ordinary graph: simulators and agents know nothing of plans.
///
/// With several replicas the cluster needs a device of class network. If it has one, the costs of
/// collectives come from a cost table, as those of any op. Otherwise a device "network" of a kind
/// "network" is added, with a slot for each device of the largest group, and routes of no latency
/// from and to all devices, each with a channel of its own. A collective then takes its time over
/// the cluster's channels (CollectiveTimes) among the devices of one position in their groups, the
/// slowest ones. Its members are in the order of the cluster; of a smaller group, the last device
/// stands for the missing ones, and a device of several groups occurs once.
/// @param together  of the step's ops that are placed together: several ops of a group get one
///   label, and an op alone in its group keeps its own. Gradients share a bucket only if their
///   producers share a label. If each replica has one device, all gradients may share buckets
/// @throws SettingError for keys "collectives" and "states"; as DeviceGroups(), BucketBytes().
/// InputError as the passes; a cluster of
///   kMaxDevices devices that needs a network device; naming two
///   devices of different replicas without a route
PlannedStep ApplyPlan(const Graph& step,
                      const Cluster& cluster,
                      const Plan& plan,
                      const Grouping& together,
                      Copies copies = Copies::kAll);

/// Returns the device of each op of the planned graph from those of the step's ops in each replica.
/// Collectives are on the first network device.
/// @param device_of_op  [replicas][step's ops]
std::vector<DeviceIndex> PlannedPlacement(const PlannedStep& step,
                                          std::span<const std::vector<DeviceIndex>> device_of_op);

}  // namespace emplace
