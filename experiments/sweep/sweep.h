#pragma once

// A sweep with all that its runs need, in the process that began it or in a worker elsewhere.

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

/// "#3 graph=nmt cluster=2xk80 agent=seq2seq seed=0"
std::string RunTitle(const SweepPlan& plan, int run);
/// SearchLabel() of a run.
std::string LabelOfRun(const SweepPlan& plan, int run);
/// What the file of a run says.
RunState StateOfRun(const Sweep& sweep, int run);
SweepTask MakeTask(const Sweep& sweep, int run);

}  // namespace emplace
