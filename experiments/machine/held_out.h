#pragma once

// Placements that calibrate the model, and what it is worth without each of them: how far it is off
// on a placement that it has not seen (profilers/statistics/prediction_interval.h).

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"
#include "profilers/executor/executor.h"
#include "profilers/measure/draw_placements.h"
#include "profilers/measure/in_situ.h"
#include "profilers/measure/step_phase.h"

namespace emplace {

/// A placement that was executed so that the model is calibrated on it.
struct CalibrationPlacement {
  LabelledPlacement drawn;  ///< of the groups that ColocateByLabel() makes
  Timing step;              ///< measured step time
  InSituTimings timings;    ///< of its ops and copies
};

/// @param measurement  with plan and traces
CalibrationPlacement MakeCalibrationPlacement(const Problem& problem,
                                              LabelledPlacement drawn,
                                              const StepMeasurement& measurement);

/// The timings of all of them together, but of the one numbered `without`; -1: of all.
InSituTimings Together(std::span<const CalibrationPlacement> placements, int without = -1);

/// Costs and the cluster that goes with them.
struct CalibratedModel {
  std::shared_ptr<const CostTable> table;
  std::shared_ptr<const Cluster> cluster;
};

/// The model with the times of ops, copies and gaps seen in whole steps.
/// @param table  for everything else    @param mode  of the steps
/// @param fits   whether fits are made anew, too; else they stay those of `table`
/// @throws InputError as CalibratedCluster() does
CalibratedModel Calibrate(const CostTable& table,
                          const InSituTimings& timings,
                          const Backend& backend,
                          const std::string& cluster_name,
                          DispatchMode mode,
                          bool fits = true);

/// Simulates each placement, as executed (SemanticsAsExecuted()) and in the other semantics that
/// HeldOutStep has, by a model that was calibrated on all others.
/// @param graph    of the placements    @param table  for all that the others do not say
/// @param earlier  timings that every model has besides, of other graphs; may be empty
/// @throws InputError as Calibrate() and ComputeCosts() do
std::vector<HeldOutStep> HoldOut(const std::shared_ptr<const Graph>& graph,
                                 std::span<const CalibrationPlacement> placements,
                                 const CostTable& table,
                                 const InSituTimings& earlier,
                                 const Backend& backend,
                                 DispatchMode mode);
/// The same for a profile (ProfileEvents::hold_out).
std::vector<HeldOutStep> HoldOut(const ExecutedGraph& executed,
                                 const Backend& backend,
                                 DispatchMode mode);

}  // namespace emplace
