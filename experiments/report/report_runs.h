#pragma once

// The runs that a report shows, by the problem that they searched, and what they found.

#include <optional>
#include <string>
#include <vector>

#include "experiments/report/learning_curve.h"
#include "experiments/run/run_table.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// Runs of the same problem with the same run config but for agents and seeds.
struct ReportProblem {
  std::string title;  ///< "inception_v3 on 4xk80", and what else tells it from other problems
  std::vector<const ResultRun*> runs;  ///< in their order; they point into the ResultRuns

  /// The run that found the best placement, of equals the first; nullptr if none found one.
  /// @param agent  only runs of this label ("hill_climb", or "hill_climb.seed2"); empty: all
  const ResultRun* Best(const std::string& agent = "") const;
};

/// Puts runs of the same problem together; problems are in the order of their first runs.
/// @param results  must outlive them
std::vector<ReportProblem> GroupByProblem(const ResultRuns& results);

/// The label of a run with its seed: "hill_climb.seed2"; "heft" for an agent without chance.
std::string LabelOf(const ResultRun& run);

/// The table of `emplace run` for these results: a row per agent over its runs that are done or
/// failed, the best first. Of TableRow::best only the outcome is set.
std::vector<TableRow> MakeReportRows(const ReportProblem& problem);

/// The curves of an agent's runs that are done.
std::vector<SearchCurve> ReadCurves(const ReportProblem& problem, const std::string& agent);

}  // namespace emplace
