#pragma once

// Learning curves: the best step time so far over the evaluations, the seconds of the search, or
// the seconds on the hardware, for each search and over the seeds of an agent. The rule is "Best so
// far" in framework/results/FORMAT.md. scripts/emplace/src/emplace/results follows the same rule,
// and a test there compares both. The program has its own implementation because a report must not
// need Python.

#include <cstddef>
#include <vector>

#include "experiments/table/table_runs.h"

namespace emplace {

/// The effort on the horizontal axis of a curve.
enum class CurveAxis { kEvaluations, kSeconds, kHardwareSeconds };

/// Returns the effort until a point of a curve: a number of evaluations, or [s].
double EffortUntil(const BestSoFar& point, CurveAxis axis);

/// A search: its improvements and its end.
struct SearchCurve {
  std::vector<BestSoFar> steps;  ///< efforts ascending, best_ns falling
  BestSoFar end;  ///< all efforts; the last best holds until here. Its best_ns is not read
};

/// Median and range of the best so far over several searches, at every effort at which one of them
/// improves. Nothing changes between two points.
struct CurveBand {
  std::vector<double>
      at;  ///< efforts, ascending; evaluations from 1; last: end of the longest search
  std::vector<double> median, least, most;  ///< [at] [ns]; infinite: no placement fits yet
};

/// Returns the curves of an agent's seeds as a band; empty without curves.
CurveBand SummarizeCurves(const std::vector<SearchCurve>& curves,
                          CurveAxis axis = CurveAxis::kEvaluations);

/// Returns at most `max_steps` of the improvements, to limit the size of a page: the first, the
/// last, and one for each interval of the logarithm of the evaluation (the last in it).
std::vector<BestSoFar> ThinSteps(const std::vector<BestSoFar>& steps, std::size_t max_steps);

}  // namespace emplace
