#pragma once

// The runs of a report, grouped by their problem, and their results.

#include <optional>
#include <string>
#include <vector>

#include "experiments/report/learning_curve.h"
#include "experiments/run/run_table.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// Groups runs of the same problem whose run configs differ only in agents and seeds, in the order
/// of the first runs, with those that have no file yet. The titles name the further differences
/// between the problems.
/// @param results  must outlive the returned problems
std::vector<ProblemRuns> GroupByProblem(const ResultRuns& results);

/// Returns the table of `emplace run` for these results: a row per agent over its runs that are
/// done or failed, the best first. Only the outcome is set in TableRow::best.
std::vector<TableRow> MakeReportRows(const ProblemRuns& problem);

/// Returns the curves of an agent's done runs.
std::vector<SearchCurve> ReadCurves(const ProblemRuns& problem, const std::string& agent);

}  // namespace emplace
