#pragma once

// The runs of a report by the problem that they searched, and what they found.

#include <optional>
#include <string>
#include <vector>

#include "experiments/report/learning_curve.h"
#include "experiments/run/run_table.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// Runs with the same run config but for agents and seeds.
struct ReportProblem {
  std::string title;                   ///< "inception_v3 on 4xk80", then keys that only some share
  std::vector<const ResultRun*> runs;  ///< in their order; point into the ResultRuns

  /// Of all runs that found a placement the one with the best, of equals the first; only those of
  /// `agent` (a label, or one with its seed) unless that is empty. nullptr: there is none.
  const ResultRun* Best(const std::string& agent = "") const;
};

/// In the order of their first runs. @param results  outlives them
std::vector<ReportProblem> GroupByProblem(const ResultRuns& results);

/// "hill_climb.seed2"; "heft" for an agent without chance.
std::string LabelOf(const ResultRun& run);

/// The best outcome of a run: step time, feasible and the devices. Empty if it found no placement.
std::optional<Outcome> ReadBestOutcome(const ResultRun& run);

/// A row per agent over its runs that are done or failed, the best first. Of `best` only the
/// outcome is set.
std::vector<TableRow> MakeReportRows(const ReportProblem& problem);

/// Curve of each run of an agent that is done.
std::vector<SearchCurve> ReadCurves(const ReportProblem& problem, const std::string& agent);

}  // namespace emplace
