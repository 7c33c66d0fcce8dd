#pragma once

// One run of `emplace run` and its output: text for people, JSON for programs.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/problem/load.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_ranks.h"
#include "experiments/run/run_resume.h"
#include "experiments/run/run_table.h"
#include "simulator/simulator.h"

namespace emplace {

struct SearchTask {
  int agent = 0;  ///< index into RunPlan::agents
  std::uint64_t seed = 0;
};

struct Run {
  RunPlan plan;
  LoadedProblem problem;
  SimulatorOptions searched, exact;  ///< options of the simulations of the two problems
  ProblemBounds bounds;              ///< `proven` rises with the bounds that agents prove
  TableScale scale;
  std::vector<SearchTask> tasks;
  int jobs = 1;               ///< concurrent searches
  RunRanks* ranks = nullptr;  ///< ranks that execute the run together; nullptr: this process alone
  EarlierSearches earlier;    ///< of a resumed run: the searches to resume
  std::vector<SearchResult> results;  ///< [tasks]
};

/// Describes the problem, a line each: graph, cluster, model, bounds, the best single device; and
/// for a resumed run the number of searches that it resumes.
std::string HeaderText(const Run& run);

/// Returns the result of a search in a few words: "41.30 ms", "OOM (missing ...)", "failed: ..." or
/// "nothing evaluated".
std::string ShortOutcome(const SearchResult& result, const Cluster& cluster);

/// Returns the rows of the run's table: one per agent, the best first.
std::vector<TableRow> MakeRows(const Run& run);

/// Describes the best placement: its step time, its gap to the bound, the sources of its ops' costs
/// and its file. With held-out placements in the costs it adds the interval of the measured time
/// and the agents whose results differ from the best by less than the costs can resolve. For a
/// contracted problem it adds the step time op by op.
/// @param row        row of the agent that found it
/// @param placement  file of the placement
std::string BestText(const Run& run, const TableRow& row, const std::filesystem::path& placement);

/// Returns problem and rows as one JSON object.
std::string TableAsJson(const Run& run, const std::vector<TableRow>& rows);

}  // namespace emplace
