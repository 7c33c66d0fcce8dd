#pragma once

// The problems of a sweep. Runs that differ only in agents, seeds or budgets share a problem.

#include <vector>

#include "experiments/problem/load.h"
#include "experiments/run/run_bound.h"
#include "experiments/sweep/sweep_config.h"

namespace emplace {

/// One problem with its lower bounds.
struct SweepProblem {
  LoadedProblem problem;
  ProblemBounds bounds;
};

struct SweepProblems {
  std::vector<SweepProblem> problems;
  std::vector<int> of_config;  ///< [configs] index into `problems`
};

/// Loads each problem once. Also makes each agent once for each of its problems, so that refused
/// settings are found before the first run begins.
/// @param strict  refuses graphs that cause warnings
/// @throws InputError as MakeProblem() and the agents do
SweepProblems LoadSweepProblems(const SweepPlan& plan, bool strict = false);

}  // namespace emplace
