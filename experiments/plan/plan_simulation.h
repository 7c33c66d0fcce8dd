#pragma once

// Simulates a plan of a training step with a placement of its ops.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/plan/apply_plan.h"
#include "framework/plan/pipeline_order.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace {

/// A training step at the size of a micro-batch, and the machine on which plans run it.
struct PlanSetting {
  std::shared_ptr<const Graph> step;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CostTable> table;  ///< measured costs; may be nullptr
  std::string costs = "none";              ///< path of the cost file, or none
  std::string where;                       ///< names the graph in messages
  Semantics semantics = Semantics::kStream;
  Objective objective = Objective::kStepTime;
};

/// Returns whether the cluster has a device of class network.
bool HasNetwork(const Cluster& cluster);

/// Returns whether stages run on the device: a GPU, or a CPU of a cluster without GPUs.
bool HasStages(const Cluster& cluster, int device);

/// The device of each op of the step in each replica. [replicas][step's ops]
using ReplicaDevices = std::vector<std::vector<DeviceIndex>>;

/// A plan that was applied and placed, ready to be simulated.
struct PlacedPlan {
  std::vector<PlannedOp> ops;             ///< [planned ops] the origin of each
  std::vector<DeviceIndex> device_of_op;  ///< [planned ops]
  std::vector<int> issue_order;           ///< [planned ops]; empty without an issue order
  int num_stages = 1;                     ///< of the first replica
  /// Its groups are the ops of each device. Without an issue order, its graph is InOrder().
  std::shared_ptr<const Problem> problem;
};

/// Returns the devices of the other replicas from those of the first: the same device if it is in
/// their group, too (CPUs beside GPUs), else the device of the same position among the others.
/// @param groups  DeviceGroups()
/// @throws InputError naming `where`, op and device: a device outside of the first group, or one
///   whose position a group does not have
ReplicaDevices MirrorDevices(const PlanSetting& setting,
                             const std::vector<std::vector<int>>& groups,
                             const std::vector<DeviceIndex>& first,
                             const std::string& where);

/// Returns contiguous stages of about equal cost, one per GPU of each group (per CPU without GPUs).
ReplicaDevices EqualStages(const PlanSetting& setting, const std::vector<std::vector<int>>& groups);

/// Applies a plan. Ops that are on one device in every replica are placed together: a stage's
/// gradients share buckets. The issue order is that of the schedule (PipelineOrder()), for each
/// replica with its own stages.
/// @param one             only the first replica (Copies::kFirst); `devices` are of this one
/// @param virtual_stages  of each device (StagesOf())
/// @throws InputError as ApplyPlan(), ComputeCosts() and Problem do; SettingError as StagesOf() and
///   PassesOf()
PlacedPlan PlacePlan(const PlanSetting& setting,
                     const Plan& plan,
                     const ReplicaDevices& devices,
                     Schedule schedule,
                     bool one = false,
                     int virtual_stages = 1);

/// Returns the placement of the groups of a placed plan's problem.
Placement PlacementOf(const PlacedPlan& placed);

/// Returns the simulator of a placed plan.
std::unique_ptr<Evaluator> PlacedSimulator(const PlanSetting& setting,
                                           const PlacedPlan& placed,
                                           int threads = 1);

/// Returns the outcome of a placed plan. For Objective::kPeriod, its step time is the period
/// (EvaluatePeriod()). Its memory is still that of the simulated step, as stages hold no more
/// micro-batches when steps follow one another.
Outcome SimulatePlaced(const PlanSetting& setting,
                       const PlacedPlan& placed,
                       const OutcomeDetail& detail = {});

/// Returns whether the first replica stands for all (one_replica.h): the plan has one replica, or
/// its replicas are alike, on devices of their own, with replicated states and collectives on the
/// network device.
/// @param devices  of each replica
bool OneIsEnough(const PlanSetting& setting,
                 const Plan& plan,
                 const std::vector<std::vector<int>>& groups,
                 const ReplicaDevices& devices);

struct NamedOutcome {
  std::string name;
  int device = -1;  ///< of the setting's cluster; -1: the plan's network device
  DeviceOutcome outcome;
};

/// Returns the outcome of each device of the setting's cluster, then of those that the plan adds.
/// A device of a replica that was not simulated has the outcome of its counterpart in the first.
std::vector<NamedOutcome> OutcomesByName(const PlanSetting& setting,
                                         const std::vector<std::vector<int>>& groups,
                                         const PlacedPlan& placed,
                                         const Outcome& outcome);

struct PlanFigures {
  Outcome outcome;  ///< on the devices of PlacedPlan::problem
  /// Share of the step in which the devices that have work are idle, on average. CPUs count only in
  /// clusters without GPUs.
  double bubble = 0;
  /// Share of the step time that would be saved if transfers and all-reduces took no time.
  double communication = 0;
};

/// Simulates a placed plan, and once more without communication.
PlanFigures FiguresOf(const PlanSetting& setting, const PlacedPlan& placed);

/// Writes graph.json.gz, cluster.yaml and placement.json.gz into a folder, which is made if it does
/// not exist: `emplace simulate` of the three files gives the step time.
/// @throws RunError
void WritePlacedPlan(const PlanSetting& setting,
                     const PlacedPlan& placed,
                     Nanos step_time,
                     const std::filesystem::path& folder);

}  // namespace emplace
