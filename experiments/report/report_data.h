#pragma once

// The contents of a report as one JSON object. The scripts of page/ read its keys.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/report/drawn_placement.h"
#include "framework/base/json.h"

namespace emplace {

/// The graphs of a report. Problems with the same graph share one entry.
class GraphList {
 public:
  /// Returns the index of the graph. Adds it if no graph with the same ops is in the list.
  int Add(const Graph& graph);
  const Json& json() const { return *json_; }
  GraphList();
  ~GraphList();

 private:
  std::unique_ptr<Json> json_;  ///< list of GraphJson()
  std::map<std::string, int> index_;
};

/// Returns the object without "graphs", "problems" and "table", which the caller adds:
///
///   {"title", "source": [paths], "sweep": name or null,
///    "runs": {"done", "failed", "stopped", "open"}, "failures": [{"run", "error"}],
///    "made_by": {"version", "commit", "date"}}
Json ReportHeadJson(const ResultRuns& results, const std::string& title);

/// Returns an entry of "problems": the problem, its agents, the drawn placement with its timeline
/// and graph, "plan_picture" (FormatPlanPicture(), or null without a plan), and the results of
/// `emplace verify` and `emplace stress`, if there are any. An agent has the numbers of
/// FormatTableJson(), its curves over evaluations, seconds and seconds of hardware, and
///
///   "seeds": [{"label", "step_time_ns" or null, "evaluations", "seconds", "hardware_seconds"}],
///   "updates": AgentUpdatesJson()
///
/// @param drawn   nullptr: no run has found a placement
/// @param graphs  gets the problem's graph
/// @param levels  list of LevelJson(), or null: the graph is not drawn
Json ProblemJson(const ProblemRuns& problem,
                 const DrawnPlacement* drawn,
                 GraphList& graphs,
                 Json levels);

/// Returns the measurements of `emplace verify` from the first file of the runs that contains them;
/// null if there are none.
Json VerificationJson(const ProblemRuns& problem);

/// Returns the results of `emplace stress` from the first file of the runs that contains them; null
/// if there are none. `regrets` is [placements][draws of noise], null: did not fit.
///
///   {"labels", "step_times_ns", "regrets", "noise", "adversary": {"range", "epsilon"} or null,
///    "scenarios": [{"name", "draws", "kendall_tau", "top_share", "regret", "worst_regret"}],
///    "date", "host"}
Json RobustnessJson(const ProblemRuns& problem);

}  // namespace emplace
