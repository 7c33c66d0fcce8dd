#pragma once

// The runs of a report, grouped by their problem, and their results.

#include <optional>
#include <string>
#include <vector>

#include "experiments/report/learning_curve.h"
#include "experiments/run/run_table.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// Runs of the same problem whose run configs differ only in agents and seeds.
struct ReportProblem {
  std::string title;  ///< "inception_v3 on 4xk80" and further differences from other problems
  std::vector<const ResultRun*> runs;  ///< in their order; they point into the ResultRuns

  /// Returns the first run that found the best placement; nullptr if none found one.
  /// @param agent  only runs of this label ("hill_climb", or "hill_climb.seed2"); empty: all
  const ResultRun* Best(const std::string& agent = "") const;
};

/// Groups runs by their problem, in the order of the first runs.
/// @param results  must outlive the returned problems
std::vector<ReportProblem> GroupByProblem(const ResultRuns& results);

/// Returns the label of a run with its seed: "hill_climb.seed2"; "heft" for an agent without
/// randomness.
std::string LabelOf(const ResultRun& run);

/// Returns the table of `emplace run` for these results: a row per agent over its runs that are
/// done or failed, the best first. Only the outcome is set in TableRow::best.
std::vector<TableRow> MakeReportRows(const ReportProblem& problem);

/// Returns the curves of an agent's done runs.
std::vector<SearchCurve> ReadCurves(const ReportProblem& problem, const std::string& agent);

}  // namespace emplace
