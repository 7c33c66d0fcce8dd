#pragma once

// Searches the plan of a training step with the shortest step time or period.
//
// 1. Degrees: replicas R (divisors of the number of GPUs; the groups of PlansOfReplicas()), stages
// S, micro-batches M = batch / (R * size of
//    the graph), recomputation of no or all blocks, GPipe, 1F1B or, with 2 to 4 virtual stages on
//    each device, interleaved (1F1B for the period).
// 2. Dropped: degrees whose resident bytes fit in no stages, interleaved ones whose estimate (3.)
//    is too large, and degrees whose lower bound (plan_bound.h) is at least the best step time.
// 3. The rest begins with balanced stages (plan_model.h), interleaved plans with even ones
//    (EvenStages()), improved by the estimate. The best kMostSimulated by the estimate are
//    simulated exactly.
// 4. Successive halving: the better half tries the neighbours of its stages that look best (a
//    boundary moved by one or two layers, two devices exchanged, another device), the better half
//    of these again, up to one, which ends in a local optimum.
// 5. Degrees with at most kMostEnumerated different stages (interleaved: kMostInterleaved) try all
//    of them, best degrees first. So the result is the best of all contiguous stages on small
//    problems.
// 6. If fewer than kMostShown degrees were simulated, the best others by the estimate are, too,
//    with the stages of 3.
// 7. The ops of a best plan of one replica and several stages are moved one by one (op_moves.h), if
//    `move_ops` is set and the step time is searched.
//
// The search ends earlier when its time is over. Until then the result does not depend on the time
// or the number of threads.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/op_moves.h"
#include "experiments/plan/plan_model.h"

namespace emplace {

/// The step at one size of a micro-batch.
struct PlanGraph {
  PlanSetting setting;
  int size = 0;  ///< samples of a micro-batch
};

struct PlanSearchOptions {
  int batch = 0;               ///< samples of a step
  double seconds = 0;          ///< time limit [s]
  std::function<bool()> stop;  ///< ends the search as the time limit does; may be empty
  std::string layers;          ///< FindLayers()
  bool place = false;          ///< sets PlanSearchResult::placed
  bool move_ops = false;       ///< sets PlanSearchResult::moved
  bool memory_only = false;    ///< simulates the balanced stages of all degrees and nothing else
  bool interleaved = true;     ///< tries interleaved plans, too
};

struct FoundPlan {
  int graph = 0;  ///< index of its PlanGraph
  Plan plan;
  int num_stages = 1;
  Schedule schedule = Schedule::k1F1B;
  int virtual_stages = 1;  ///< of each device; more than 1 if the schedule is interleaved
  bool recompute = false;
  std::vector<Stages> stages;  ///< of each replica; of the first one if the others are alike
  Nanos bound = 0;             ///< of its degrees, in 2 above [ns]
  Estimate estimate;
  bool simulated = false;
  Nanos step_time = 0;                   ///< or period; exact if simulated, else estimated [ns]
  std::int64_t deficit = 0;              ///< bytes that miss on the devices of a replica [B]
  int fullest = -1;                      ///< device with the largest share of its memory in use
  std::int64_t peak = 0;                 ///< of this device [B]
  double bubble = 0, communication = 0;  ///< PlanFigures, of those that are shown
};

/// A plan that people would choose.
struct UsualPlan {
  std::string name, meaning;
  std::optional<FoundPlan> plan;  ///< none: the degrees do not divide, or no such plan fits
};

struct PlanSearchResult {
  std::vector<FoundPlan> plans;  ///< of different degrees, the best ten first; all if memory_only
  std::vector<UsualPlan> usual;
  /// No plan of these graphs and of the degrees that fit, with contiguous stages, has a shorter
  /// step [ns]; kMaxNanos if the resident bytes of none fit.
  Nanos bound = kMaxNanos;
  int num_degrees = 0, too_large = 0, bounded = 0, too_long = 0, simulated = 0;
  bool complete = true;                  ///< false: the time was over before the search ended
  std::string layers;                    ///< how the layers were found: "14 layers (h.*)"
  std::vector<std::string> layer_names;  ///< ModelLayers::names
  std::optional<PlacedPlan> placed;      ///< the best plan, on all replicas
  /// The best plan with ops moved, if that takes less time. No bound of stages holds for it.
  std::optional<MovedOps> moved;
};

/// Returns even virtual stages of layers (EvenStages()) for interleaved plans, on the devices of
/// each group with stages.
/// @param layers  FindLayers()
/// @throws SettingError for key "virtual_stages", if there are fewer layers; as FindLayers()
ReplicaDevices EvenVirtualStages(const PlanSetting& setting,
                                 const std::vector<std::vector<int>>& groups,
                                 const std::string& layers,
                                 int virtual_stages);

/// @throws InputError if no degrees divide (with the sizes of the graphs); as FindLayers(),
///   ApplyPlan(), ComputeCosts()
PlanSearchResult SearchPlans(const std::vector<PlanGraph>& graphs,
                             const PlanSearchOptions& options);

}  // namespace emplace
