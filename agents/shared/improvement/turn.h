#pragma once

// A turn of one of several searches that run concurrently and exchange their results at its end.

#include <cstdint>

#include "agents/shared/improvement/improvement_agent.h"

namespace emplace {

/// The result of a turn.
struct Turn {
  std::int64_t evaluations = 0;
  bool stale = false;  ///< whether the search failed to improve its best placement
};

/// Returns a turn for Evaluator::RunAbreast(), which runs it in this process or on another rank.
/// The search steps until it has made `enough` evaluations, but at least once.
/// @param agent, turn  must outlive the returned object; both are complete after RunAbreast()
SearchAbreast MakeTurn(ImprovementAgent& agent, std::int64_t enough, Turn& turn);

}  // namespace emplace
