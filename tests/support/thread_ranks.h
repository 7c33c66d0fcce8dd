#pragma once

// Ranks that are threads of one process: for tests without a launcher.
//
//   RunThreadRanks(4, [](Communicator& ranks) { ... ranks.rank() ... });

#include <functional>

#include "framework/ranks/communicator.h"

namespace emplace::testing {

/// Calls body on `count` threads at once, each with a communicator of its own, and returns when all
/// have ended. If one throws, the others' next collective throws RunError "rank R has left".
/// @throws what the least rank threw whose exception was not caused by another's
void RunThreadRanks(int count, const std::function<void(Communicator&)>& body);

}  // namespace emplace::testing
