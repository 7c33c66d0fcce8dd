#pragma once

// Learning curves: how the best step time found falls with the evaluations made, for each search,
// and over the seeds of an agent. The rule is "Best so far" in framework/results/FORMAT.md, which
// scripts/emplace/src/emplace/results follows, too; a test there compares both. The program has its own because
// a report needs no Python, and its page draws what comes out here.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/table/table_runs.h"

namespace emplace {

/// One search: its improvements and where it ended.
struct SearchCurve {
  std::vector<BestSoFar> steps;  ///< evaluations ascending, best_ns falling
  std::int64_t evaluations = 0;  ///< made in all; the last best holds until here
};

/// Median and range of the best so far over several searches, at every number of evaluations at
/// which one of them improves. Between two points nothing changes.
struct CurveBand {
  std::vector<std::int64_t> evaluations;  ///< ascending, from 1; the last: where the longest ended
  std::vector<double> median, least, most;  ///< [evaluations] [ns]; infinite: nothing fits yet
};

/// The curves of the seeds of one agent as a band; empty without curves.
CurveBand SummarizeCurves(const std::vector<SearchCurve>& curves);

/// At most `max_steps` of the improvements, so that a page stays small: the first, the last, and of
/// others that lie close together, by the logarithm of the evaluation, the last.
std::vector<BestSoFar> ThinSteps(const std::vector<BestSoFar>& steps, std::size_t max_steps);

}  // namespace emplace
