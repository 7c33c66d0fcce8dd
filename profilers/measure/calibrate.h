#pragma once

// Makes problems from the measured costs of a machine, and measures the error of their simulations
// on placements that the calibration has not seen (profilers/statistics/prediction_interval.h).

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

/// A placement that was executed to calibrate the model.
struct CalibrationPlacement {
  LabelledPlacement drawn;  ///< of the groups that ColocateByLabel() makes
  Timing step;              ///< measured step time
  InSituTimings timings;    ///< of its ops and copies
};

/// @param measurement  with plan and traces
CalibrationPlacement MakeCalibrationPlacement(const Problem& problem,
                                              LabelledPlacement drawn,
                                              const StepMeasurement& measurement);

/// Returns the timings of all placements together, except those of placement `without`; -1: of all.
InSituTimings Together(std::span<const CalibrationPlacement> placements, int without = -1);

/// Costs measured on a machine and the cluster that goes with them.
struct Calibration {
  std::shared_ptr<const CostTable> table;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Backend> backend;    ///< the machine
  DispatchMode mode = DispatchMode::kGraph;  ///< of its steps
  std::string where;                         ///< stands for the costs in messages
  bool prefer_in_situ = true;                ///< false: costs are those of isolated timings

  /// Returns a copy with the times of ops, copies and gaps seen in whole steps, and with the
  /// cluster that follows from them.
  /// @param fits  whether fits are recomputed; if not, the table's fits stay
  /// @throws InputError as CalibratedCluster() does
  Calibration With(const InSituTimings& timings, bool fits = true) const;
  /// Returns a copy with the costs of isolated timings and fits of these.
  Calibration OfIsolatedTimings() const;

  /// Returns the problem of a graph. Ops are placed one by one, except those that must be together.
  /// @param semantics  of the simulation that uses the costs
  /// @param warn       CostInputs::warn
  /// @throws InputError as CostedProblem and Problem do
  std::shared_ptr<const Problem> MakeProblem(
      const std::shared_ptr<const Graph>& graph,
      Semantics semantics,
      std::function<void(const std::string&)> warn = {}) const;

  /// Simulates each placement with this calibration and the timings of all other placements, both
  /// as executed (SemanticsAsExecuted()) and in the other semantics that HeldOutStep has.
  /// @param graph    of the placements
  /// @param earlier  timings of other graphs that every model includes, too; may be empty
  /// @return an empty list for a single placement
  /// @throws InputError as With() and MakeProblem() do
  std::vector<HeldOutStep> HoldOut(const std::shared_ptr<const Graph>& graph,
                                   std::span<const CalibrationPlacement> placements,
                                   const InSituTimings& earlier) const;
};

/// Combines a table with the cluster that it describes (CalibratedCluster()).
/// @param mode  dispatch mode of future steps
/// @param name  of the cluster, and Calibration::where
/// @throws InputError as CalibratedCluster() does
Calibration Calibrate(CostTable table,
                      std::shared_ptr<const Backend> backend,
                      DispatchMode mode,
                      const std::string& name);

}  // namespace emplace
