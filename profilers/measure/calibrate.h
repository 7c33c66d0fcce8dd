#pragma once

// From measured times to simulations: what a machine's problems are made of, and how far it is off
// on a placement that it has not seen (profilers/statistics/prediction_interval.h).

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"
#include "profilers/executor/executor.h"
#include "profilers/measure/calibrated_cluster.h"
#include "profilers/measure/draw_placements.h"
#include "profilers/measure/in_situ.h"
#include "simulator/semantics.h"

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

/// Costs measured on a machine and the cluster that goes with them.
struct Calibration {
  std::shared_ptr<const CostTable> table;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Backend> backend;    ///< the machine
  DispatchMode mode = DispatchMode::kGraph;  ///< of its steps
  std::string where;                         ///< stands for the costs in messages
  bool prefer_in_situ = true;                ///< false: costs are those of isolated timings

  /// The same with the times of ops, copies and gaps seen in whole steps, and the cluster that
  /// follows from them.
  /// @param fits  whether fits are made again, too; else they stay those of the table
  /// @throws InputError as CalibratedCluster() does
  Calibration With(const InSituTimings& timings, bool fits = true) const;
  /// The same with costs of isolated timings and fits of these.
  Calibration OfIsolatedTimings() const;

  /// The problem of a graph whose ops are placed one by one, but for those that must be together.
  /// @param semantics  of the simulation that the costs are for
  /// @param warn       CostSources::warn
  /// @throws InputError as CostedProblem and Problem do
  std::shared_ptr<const Problem> MakeProblem(
      const std::shared_ptr<const Graph>& graph,
      Semantics semantics,
      std::function<void(const std::string&)> warn = {}) const;

  /// Simulates each placement, as executed (SemanticsAsExecuted()) and in the other semantics that
  /// HeldOutStep has, by this calibration with the timings of all others.
  /// @param graph    of the placements
  /// @param earlier  timings that every model has besides, of other graphs; may be empty
  /// @return nothing for a single placement
  /// @throws InputError as With() and MakeProblem() do
  std::vector<HeldOutStep> HoldOut(const std::shared_ptr<const Graph>& graph,
                                   std::span<const CalibrationPlacement> placements,
                                   const InSituTimings& earlier) const;
};

/// A table with the cluster that it describes (CalibratedCluster()).
/// @param mode  how steps will be dispatched
/// @param name  of the cluster, and Calibration::where
/// @throws InputError as CalibratedCluster() does
Calibration Calibrate(CostTable table,
                      std::shared_ptr<const Backend> backend,
                      DispatchMode mode,
                      const std::string& name);

}  // namespace emplace
