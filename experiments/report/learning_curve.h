#pragma once

// Learning curves: how the best step time found falls with the evaluations made, with the seconds
// of the search, or with those that the hardware would have taken, for each search and over the
// seeds of an agent. The rule is "Best so far" in framework/results/FORMAT.md, which
// scripts/emplace/src/emplace/results follows, too; a test there compares both. The program has its
// own because a report needs no Python, and its page draws what comes out here.

#include <cstddef>
#include <vector>

#include "experiments/table/table_runs.h"

namespace emplace {

/// The effort that a curve is drawn over.
enum class CurveAxis { kEvaluations, kSeconds, kHardwareSeconds };

/// The effort until a point of a curve: a number of evaluations, or [s].
double EffortUntil(const BestSoFar& point, CurveAxis axis);

/// One search: its improvements and where it ended.
struct SearchCurve {
  std::vector<BestSoFar> steps;  ///< efforts ascending, best_ns falling
  BestSoFar end;  ///< all efforts; the last best holds until here. Its best_ns is not read
};

/// Median and range of the best so far over several searches, at every effort at which one of them
/// improves. Between two points nothing changes.
struct CurveBand {
  std::vector<double>
      at;  ///< efforts, ascending; evaluations from 1; last: where the longest ended
  std::vector<double> median, least, most;  ///< [at] [ns]; infinite: nothing fits yet
};

/// The curves of the seeds of one agent as a band; empty without curves.
CurveBand SummarizeCurves(const std::vector<SearchCurve>& curves,
                          CurveAxis axis = CurveAxis::kEvaluations);

/// At most `max_steps` of the improvements, so that a page stays small: the first, the last, and of
/// others that lie close together, by the logarithm of the evaluation, the last.
std::vector<BestSoFar> ThinSteps(const std::vector<BestSoFar>& steps, std::size_t max_steps);

}  // namespace emplace
