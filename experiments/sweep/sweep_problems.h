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

/// Loads each problem once.
/// @param strict  refuses graphs that cause warnings
/// @throws InputError as MakeProblem() does
SweepProblems LoadSweepProblems(const SweepPlan& plan, bool strict = false);

/// Makes each agent once for each of its problems, so that refusals are found before the first run
/// begins. With SweepConfig::allow_refusals it makes each agent until it accepts a problem.
/// @throws InputError as the agents do; with allow_refusals only for an agent that refuses all its
///   problems
void CheckAgents(const SweepPlan& plan, const SweepProblems& problems);

}  // namespace emplace
