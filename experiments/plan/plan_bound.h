#pragma once

// Lower bounds on the step time of plans whose replicas run contiguous stages (plan_stages.h), each
// on a device of its own. They hold for all such stages, every schedule, and every order of the
// devices.
//
// Stage. A device does the ops of its layers for all micro-batches, and their sums and updates, one
// at a time in each slot. No copy of an op starts before its *head*, the longest way to it in the
// graph of one micro-batch, with each op at its least cost on the replica's devices. Its *tail*,
// the longest way from it to the end, remains after it. The one-machine bound
// (framework/bounds/one_machine.h) of the ops with these heads and tails is a bound of the stage.
// It has the filling of the pipeline: the last stage is idle until the first micro-batch arrives
// from the stages before, and after its last pass the backward passes of these stages remain.
//
//   Two equal stages of forward f and backward b, M micro-batches: the ops of the last stage have
//   heads >= f and tails >= b, so the step takes f + M (f + b) + b, the time of 1F1B.
//
// The ways may pass through sums of gradients; these count 0 there, since a graph of one
// micro-batch has none. Between a gradient and its update lies an all-reduce of at least its bytes,
// if larger all-reduces never take less time. Heads and tails are rounded down to multiples of
// 1/1024 of the longest way, and ops of equal ones are one job.
//
// Stages. The least of the largest bounds of stages, over all stages that fit into their devices as
// far as LayerCosts::CanFit() knows: a dynamic program (BalanceStages()). The longest way is a
// bound, too.
//
// Interleaved: a device may have any layers. The one-machine bound of all jobs on the slots of all
// devices, each at its least cost, and the longest way.
//
// Objective::kPeriod: the work of a stage, as devices wait for nothing then.
//
// Left out: transfers, activations that only other layers read, and devices on which no stages run.

#include <vector>

#include "experiments/plan/plan_model.h"
#include "framework/bounds/one_machine.h"

namespace emplace {

class PlanBounds {
 public:
  /// @param costs   of the step with the plan's recomputation, or without any; outlives this
  /// @param plan    replicas, groups and micro-batches
  /// @param groups  DeviceGroups()
  PlanBounds(const PlanSetting& setting,
             const LayerCosts& costs,
             const Plan& plan,
             const std::vector<std::vector<int>>& groups);

  /// Returns the bounds of plans with 1, 2, ... stages; kMaxNanos where none fits. [least number of
  /// layers and of devices with stages in a group]
  /// @param schedule  GPipe or 1F1B
  std::vector<Nanos> WithStages(Schedule schedule);

  /// Returns a bound of interleaved plans with stages on so many devices of each group, for any
  /// number of virtual stages.
  Nanos Interleaved(int num_devices) const;

 private:
  /// The bounds of stages on a class of equal devices.
  struct EqualDevices {
    std::vector<int> devices;
    int slots = 1;
    std::vector<std::vector<Job>> jobs;  // [layers]
    std::vector<Nanos> known;            // [layers + 1, layers] by end and begin; -1: not yet
  };
  struct Group {
    std::vector<EqualDevices> classes;
    std::vector<Job> jobs;   // of all layers
    std::vector<int> slots;  // of the devices with stages, the most first
    Nanos longest = 0;
  };

  Nanos StageBound(EqualDevices& on, int begin, int end);

  const PlanSetting& setting_;
  const LayerCosts& costs_;
  int micro_batches_;
  std::vector<Group> groups_;  // different ones
};

/// Returns the times of all-reduces among the replicas of a plan, each of one tensor. [ns] By the
/// cost table, if the cluster has a network device.
std::vector<Nanos> AllReduceTimes(const PlanSetting& setting,
                                  const Plan& plan,
                                  const std::vector<std::int64_t>& bytes);

}  // namespace emplace
