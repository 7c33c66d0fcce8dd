#pragma once

// The problems of a sweep, each loaded once.

#include <vector>

#include "experiments/load.h"
#include "experiments/sweep/sweep_config.h"
#include "simulator/bounds.h"

namespace emplace {

struct SweepProblem {
  LoadedProblem problem;
  Bounds bounds;
};

struct SweepProblems {
  std::vector<SweepProblem> problems;
  std::vector<int> of_config;  ///< [configs] index into `problems`
};

/// Loads what the runs need and makes each agent once for each problem, so that a setting that one
/// of them refuses is found before the first run begins.
/// @throws InputError as loading and the agents do
SweepProblems LoadSweepProblems(const SweepPlan& plan);

}  // namespace emplace
