#pragma once

#include <string>

#include "framework/search/problem.h"
#include "simulator/timeline.h"

namespace emplace::testing {

/// Small readable text for golden tests: a line per op and transfer in order of start, with the
/// slots that a transfer occupies behind "on", then the step time, then a line per device with its
/// busy time, peak and deficit. Times in [ns], memory in [B].
std::string FormatTimeline(const Problem& problem, const Timeline& timeline);

}  // namespace emplace::testing
