#pragma once

#include <memory>

#include "framework/search/evaluator.h"

namespace emplace {

/// Makes the evaluator of a problem with Objective::kPeriod (period_engine.h). It refuses
/// placements as MakeSimulator() does (simulator.h), which returns it for such problems.
/// @param threads  that share a batch, at least 1. They never change a result
std::unique_ptr<Evaluator> MakePeriodEvaluator(std::shared_ptr<const Problem> problem, int threads);

}  // namespace emplace
