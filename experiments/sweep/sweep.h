#pragma once

// A sweep with the inputs of its runs, in the process that began it or in a worker elsewhere.

#include <string>

#include "experiments/sweep/sweep_folder.h"
#include "experiments/sweep/sweep_results.h"

namespace emplace {

struct Sweep {
  SweepPlan plan;
  SweepProblems problems;
  SweepFolder folder;
  Provenance provenance;
};

/// Returns "#3 graph=nmt cluster=2xk80 agent=seq2seq seed=0".
std::string RunTitle(const SweepPlan& plan, int run);
/// Returns the SearchLabel() of a run.
std::string LabelOfRun(const SweepPlan& plan, int run);
/// Reads the state of a run from its file.
ResultRun StateOfRun(const Sweep& sweep, int run);
SweepTask MakeTask(const Sweep& sweep, int run);

}  // namespace emplace
