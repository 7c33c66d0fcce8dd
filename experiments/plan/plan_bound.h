#pragma once

// Lower bounds on the step time of plans with given degrees. They hold for every schedule and every
// placement of a replica's ops on its GPUs, stages or not; ops that may run on none of them are on
// its CPUs. Without GPUs, CPUs take their place.
//
//   work           each replica does its work on its devices (framework/bounds/work_bound.h): the
//                  forward and backward pass of each micro-batch, the sums of gradients, the update
//   stages         with S devices, a replica's work takes at least 1/S of the sum of least costs;
//                  only for plans whose replicas have at most S devices with work
//   critical path  the longest chain of ops of one micro-batch, each at its least cost on the
//                  replica's devices. Between a gradient and its update lies an all-reduce of at
//                  least its bytes, if the costs of all-reduces are those of rings
//
// Recomputation only adds work, so the bound without it holds for plans with it.

#include <vector>

#include "experiments/plan/plan_model.h"

namespace emplace {

/// Returns the work bound, with stages if num_stages > 0.
/// @param costs   of the step with or without recomputation
/// @param groups  DeviceGroups()
Nanos BoundPlanWork(const PlanSetting& setting,
                    const LayerCosts& costs,
                    const std::vector<std::vector<int>>& groups,
                    int micro_batches,
                    int num_stages = 0);

/// Returns the critical path of a plan with these groups. @param plan  replicas and groups
Nanos BoundPlanPath(const PlanSetting& setting,
                    const Plan& plan,
                    const std::vector<std::vector<int>>& groups);

/// Returns the times of all-reduces among the replicas of a plan, each of one tensor. [ns] By the
/// cost table, if the cluster has a network device.
std::vector<Nanos> AllReduceTimes(const PlanSetting& setting,
                                  const Plan& plan,
                                  const std::vector<std::int64_t>& bytes);

}  // namespace emplace
