#pragma once

// Everything that a report shows, as one JSON object. The scripts of page/ read it and know its
// keys.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/report/drawn_placement.h"
#include "framework/base/json.h"

namespace emplace {

/// The graphs of a report, each once, however many problems share it.
class GraphList {
 public:
  /// The index of the graph, which is added if none with the same ops is there yet.
  int Add(const Graph& graph);
  const Json& json() const { return *json_; }
  GraphList();
  ~GraphList();

 private:
  std::unique_ptr<Json> json_;  ///< list of GraphJson()
  std::map<std::string, int> index_;
};

/// The object, to which the caller adds "graphs", "problems" and "table":
///
///   {"title", "source": [paths], "sweep": name or null,
///    "runs": {"done", "failed", "stopped", "open"}, "failures": [{"run", "error"}],
///    "made_by": {"version", "commit", "date"}}
Json ReportHeadJson(const ResultRuns& results, const std::string& title);

/// An entry of "problems": what was searched, agents, the drawn placement with its timeline and
/// graph, what `emplace verify` measured and what `emplace stress` found, if they did. An agent has
/// the numbers of FormatTableJson(), its curves over evaluations, seconds and seconds of hardware,
/// and
///
///   "seeds": [{"label", "step_time_ns" or null, "evaluations", "seconds", "hardware_seconds"}],
///   "updates": AgentUpdatesJson()
///
/// @param drawn   nullptr: no run has found a placement
/// @param graphs  gets the problem's graph
/// @param levels  list of LevelJson(), or null: the graph is not drawn
Json ProblemJson(const ReportProblem& problem,
                 const DrawnPlacement* drawn,
                 GraphList& graphs,
                 Json levels);

/// What `emplace verify` measured, from the first file of the runs that has it; null if none has.
Json VerificationJson(const ReportProblem& problem);

/// What `emplace stress` found, from the first file of the runs that has it; null if none has.
/// `regrets` is [placements][draws of noise], null: did not fit.
///
///   {"labels", "step_times_ns", "regrets", "noise", "adversary": {"range", "epsilon"} or null,
///    "scenarios": [{"name", "draws", "kendall_tau", "top_share", "regret", "worst_regret"}],
///    "date", "host"}
Json RobustnessJson(const ReportProblem& problem);

}  // namespace emplace
