#pragma once

// One of several equal replicas, for searches: the simulation of a plan then does not grow with the
// number of replicas.
//
// ApplyPlan() with Copies::kFirst makes it: the ops of the first replica, and the all-reduces of
// all replicas, which await its gradients. The cluster has only its devices and those of class
// network.
//
// The simulated step is exactly that of all replicas if the replicas are alike: corresponding
// devices are equal and have equal costs, corresponding routes have equal channels, no channel
// belongs to routes of two replicas, and no device has ops of two replicas. Replicas meet in their
// all-reduces only. An all-reduce begins when its gradients are there in all replicas. By induction
// over the all-reduces this is at the same time in all of them, since until then each replica does
// the same on equal devices and channels that no other one uses, and the network device has the
// same all-reduces in the same order.

#include <span>
#include <string>
#include <vector>

#include "framework/plan/apply_plan.h"

namespace emplace {

/// Applies a plan to a step that only makes and reads gradients, at no cost. The result has their
/// all-reduces, one for each, in their order, and the cluster with its network device, on the
/// first replica only.
/// @throws as ApplyPlan()
PlannedStep ReduceAlone(const Cluster& cluster, const Plan& plan, std::vector<Tensor> gradients);

/// Returns whether a one-to-one map between channels of equal properties maps the routes between
/// the devices `from` to those between the devices `to`, hop by hop.
bool AlikeRoutes(const Cluster& cluster, std::span<const int> from, std::span<const int> to);

/// Returns the reason why replicas are not alike, such as "gpu:0 and gpu:2 differ"; empty if they
/// are. Devices in several groups (CPUs beside GPUs) are not looked at.
/// @param groups           DeviceGroups()
/// @param alike_as_device  [num_devices] devices of equal costs have equal numbers
///   (DevicesOfEqualCosts())
std::string ReplicasDiffer(const Cluster& cluster,
                           const std::vector<std::vector<int>>& groups,
                           std::span<const int> alike_as_device);

inline bool ReplicasAreAlike(const Cluster& cluster,
                             const std::vector<std::vector<int>>& groups,
                             std::span<const int> alike_as_device) {
  return ReplicasDiffer(cluster, groups, alike_as_device).empty();
}

}  // namespace emplace
