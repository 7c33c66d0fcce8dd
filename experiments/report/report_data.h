#pragma once

// Everything that a report shows, as one JSON object; the page's scripts know its keys.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/report/drawn_placement.h"
#include "framework/base/json.h"

namespace emplace {

/// Graphs that problems share are in the report once.
class GraphList {
 public:
  /// Index of the graph, added if its ops are not there yet.
  int Add(const Graph& graph);
  const Json& json() const { return *json_; }
  GraphList();
  ~GraphList();

 private:
  std::unique_ptr<Json> json_;  ///< list of GraphJson()
  std::map<std::string, int> index_;
};

/// {"title", "source": [paths], "sweep": name or null, "runs": {"done", "failed", "stopped",
/// "open"}, "failures": [{"run", "error"}], "made_by": {"version", "commit", "date"}}; graphs,
/// problems and table are added to it.
Json ReportHeadJson(const ResultRuns& results, const std::string& title);

/// One problem: what was searched, agents with their numbers and curves, the drawn placement with
/// timeline and, where `levels` is given, the drawn graph; "verification" where the results have
/// one.
/// @param drawn  nullptr: no run has found a placement
Json ProblemJson(const ReportProblem& problem,
                 const DrawnPlacement* drawn,
                 GraphList& graphs,
                 Json levels);

/// The first file of the runs that holds what `emplace verify` measured; null without one.
Json VerificationJson(const ReportProblem& problem);

}  // namespace emplace
