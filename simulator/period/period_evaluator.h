#pragma once

#include <memory>

#include "framework/search/evaluator.h"

namespace emplace {

/// Makes the evaluator of a problem with Objective::kPeriod (period_engine.h). It refuses the same
/// placements as MakeSimulator() (simulator.h), which returns it for such problems.
/// @param threads  threads that share a batch, at least 1; they never change a result
std::unique_ptr<Evaluator> MakePeriodEvaluator(std::shared_ptr<const Problem> problem, int threads);

}  // namespace emplace
