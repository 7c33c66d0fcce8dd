#pragma once

#include <memory>

#include "framework/search/problem.h"

namespace emplace::fuzz {

/// Twelve ops in groups of about two on three devices, whose ids are a topological order; always
/// the same one.
const std::shared_ptr<const Problem>& SmallProblem();

/// The same with the period as objective.
const std::shared_ptr<const Problem>& SmallPeriodProblem();

}  // namespace emplace::fuzz
