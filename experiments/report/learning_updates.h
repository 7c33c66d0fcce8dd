#pragma once

// The numbers that learning agents record with each update (loss, entropy, ...), as data:
// page/learners.js draws them.

#include <cstddef>
#include <string>

#include "experiments/report/report_runs.h"
#include "framework/base/json.h"
#include "framework/search/update_table.h"

namespace emplace {

/// The updates of one search, in at most `max_points` points, so that a page stays small: a point
/// stands for equally many updates in a row. A value is their mean without NaN, null if all are
/// NaN; of the column "evaluations" it is the last.
///
///   {"update": number of the point's last update, from 1, "values": {column: [points]}}
///
/// Values have five significant digits.
Json UpdatesJson(const UpdateTable& updates, std::size_t max_points);

/// The updates of an agent's runs that are done:
///
///   {"columns": [names], "seeds": [UpdatesJson() with "seed"]}
///
/// @return null for an agent that records none, as in files of programs that did not write them
Json AgentUpdatesJson(const ReportProblem& problem, const std::string& agent);

}  // namespace emplace
