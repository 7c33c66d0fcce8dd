#pragma once

// How the best step time found falls with the evaluations made: one step function per search, and
// what several seeds of one agent have in common.

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

/// Median and range over the searches at every evaluation at which one of them improved. Between
/// two points nothing changes. A search without a placement that fits counts as infinite; one that
/// has ended keeps its best.
struct CurveBand {
  std::vector<std::int64_t> evaluations;  ///< ascending, from 1; the last: where the longest ended
  std::vector<double> median, least, most;  ///< [evaluations] [ns]; infinite: nothing fits yet
};

/// The median of an even number is the mean of the middle two.
CurveBand SummarizeCurves(const std::vector<SearchCurve>& curves);

/// At most `max_steps` of the improvements: of those that lie closest together (by the logarithm of
/// the evaluation) the last, and always the first and the last.
std::vector<BestSoFar> ThinSteps(const std::vector<BestSoFar>& steps, std::size_t max_steps);

}  // namespace emplace
