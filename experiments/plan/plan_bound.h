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

#include <algorithm>
#include <vector>

#include "experiments/plan/plan_model.h"

namespace emplace {

/// The work bounds of plans with equal degrees but for their stages.
struct PlanWork {
  Nanos time = 0;   ///< work [ns]
  Nanos least = 0;  ///< largest sum of least costs of a replica; only ops that run on any GPU [ns]
  int slots = 1;    ///< most slots of a device

  /// Returns the larger one of work and stages.
  Nanos WithStages(int num_stages) const {
    const Nanos servers = Nanos{num_stages} * slots;
    return std::max(time, (least + servers - 1) / servers);
  }
};

/// @param costs   of the step with or without recomputation
/// @param groups  DeviceGroups()
PlanWork BoundPlanWork(const PlanSetting& setting,
                       const LayerCosts& costs,
                       const std::vector<std::vector<int>>& groups,
                       int micro_batches);

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
