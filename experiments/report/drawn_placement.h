#pragma once

// The placement that a report draws for a problem, with everything that its pictures are made of.

#include <optional>
#include <string>
#include <vector>

#include "experiments/problem/load.h"
#include "experiments/report/report_runs.h"
#include "experiments/run/run_reader.h"
#include "experiments/run/search_run.h"
#include "simulator/timeline.h"

namespace emplace {

/// A placement with its simulated step.
struct DrawnPlacement {
  std::string label;                      ///< "hill_climb.seed2", or the placement file
  LoadedProblem problem;                  ///< as the run had it
  std::shared_ptr<const Problem> ops;     ///< with every op as a group of its own
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops]
  Timeline timeline;                      ///< one step in the run's semantics
  std::vector<double> weight;             ///< [num_ops] time of each op where it is placed [ns]
  std::optional<Nanos> searched;          ///< what the search saw [ns]; empty for a placement file
  std::optional<SingleDevice> best_single_device;  ///< of what was searched
};

/// Reads or finds the placement and simulates it.
/// @param placement  an agent ("hill_climb", or "hill_climb.seed2" for one seed), whose best is
///   taken, or a placement file (.json, .json.gz); empty, or an agent that this problem lacks: the
///   best of all
/// @param files  to read instead of those that the results name
/// @return nothing if no run has found a placement
/// @throws InputError as ReadRun() and ReadPlacement() do
std::optional<DrawnPlacement> DrawPlacement(const ReportProblem& problem,
                                            const std::string& placement,
                                            const RunFiles& files);

/// Does `placement` name a placement file rather than an agent?
bool IsPlacementFile(const std::string& placement);

}  // namespace emplace
