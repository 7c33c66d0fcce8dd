#pragma once

// The numbers that learning agents record with each update (loss, entropy, ...), as data for
// page/learners.js.

#include <cstddef>
#include <string>

#include "experiments/report/report_runs.h"
#include "framework/base/json.h"
#include "framework/search/update_table.h"

namespace emplace {

/// Returns the updates of one search in at most `max_points` points, to limit the size of a page.
/// Each point covers the same number of consecutive updates. Its value is their mean without NaN,
/// or null if all are NaN; for the column "evaluations" it is the last value.
///
///   {"update": number of the point's last update, from 1, "values": {column: [points]}}
///
/// Values have five significant digits.
Json UpdatesJson(const UpdateTable& updates, std::size_t max_points);

/// Returns the updates of an agent's done runs:
///
///   {"columns": [names], "seeds": [UpdatesJson() with "seed"]}
///
/// @return null for an agent without records, and for files of programs that did not write them
Json AgentUpdatesJson(const ProblemRuns& problem, const std::string& agent);

}  // namespace emplace
