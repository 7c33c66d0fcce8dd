#pragma once

// The placement that a report draws for a problem, with the inputs of its pictures.

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
  LoadedProblem problem;                  ///< as in the run
  std::shared_ptr<const Problem> ops;     ///< with every op in its own group
  std::vector<PlannedOp> origin;          ///< [num_ops] if the run has a plan, else empty
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops]
  Timeline timeline;                      ///< one step in the run's semantics
  std::vector<double> weight;             ///< [num_ops] time of each op on its device [ns]
  std::optional<Nanos> searched;  ///< step time in the search [ns]; none for a placement file
  std::optional<SingleDevice> best_single_device;  ///< of the searched problem
};

/// Reads or finds the placement and simulates it.
/// @param placement  an agent ("hill_climb", or "hill_climb.seed2" for one seed), for its best
///   placement, or a placement file (.json, .json.gz). If it is empty, or an agent without runs of
///   this problem: the best placement of all
/// @param files  replace the files that the results name
/// @return none if no run has found a placement
/// @throws InputError as ReadRun() and ReadPlacement() do
std::optional<DrawnPlacement> DrawPlacement(const ProblemRuns& problem,
                                            const std::string& placement,
                                            const RunFiles& files);

}  // namespace emplace
