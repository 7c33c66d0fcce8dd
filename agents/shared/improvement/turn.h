#pragma once

// A turn of a search among several that run side by side and share what they found at its end.

#include <cstdint>

#include "agents/shared/improvement/improvement_agent.h"

namespace emplace {

/// What a search did in a turn.
struct Turn {
  std::int64_t evaluations = 0;
  bool stale = false;  ///< it found nothing better than it knew before
};

/// The search steps until it has made `enough` evaluations, one step at least.
/// Evaluator::RunAbreast runs it, here or on another rank.
/// @param agent, turn  outlive what is returned; both are complete after RunAbreast()
SearchAbreast MakeTurn(ImprovementAgent& agent, std::int64_t enough, Turn& turn);

}  // namespace emplace
