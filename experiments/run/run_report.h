#pragma once

// One run of `emplace run`, and what it prints: text for people, JSON for programs.

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

/// One search to be made.
struct SearchTask {
  int agent = 0;  ///< index into RunPlan::agents
  std::uint64_t seed = 0;
};

/// A run from its plan to its results.
struct Run {
  RunPlan plan;
  LoadedProblem problem;
  SimulatorOptions searched, exact;  ///< how the two problems are simulated
  ProblemBounds bounds;              ///< `proven` grows with what agents prove
  TableScale scale;
  std::vector<SearchTask> tasks;
  int jobs = 1;                       ///< searches at a time
  RunRanks* ranks = nullptr;          ///< that make it together; nullptr: this process alone
  EarlierSearches earlier;            ///< of a resumed run: what to go on from
  std::vector<SearchResult> results;  ///< [tasks]
};

/// What is searched, a line each: graph, cluster, model, bounds, the best single device; and how
/// much a resumed run goes on from.
std::string HeaderText(const Run& run);

/// What a search found, in a few words: "41.30 ms", "OOM (missing ...)", "failed: ..." or "nothing
/// evaluated".
std::string ShortOutcome(const SearchResult& result, const Cluster& cluster);

/// The table of the run: one row per agent, the best first.
std::vector<TableRow> MakeRows(const Run& run);

/// The best placement: its step time, how far it may be from the optimum, if the costs have
/// held-out placements the interval of its measured time and the agents that are nearer to it than
/// these costs resolve, where the costs of its ops come from, its file, and, if the search was on a
/// contracted problem, its step time op by op.
/// @param row        whose best it is   @param placement  the file that it was written to
std::string BestText(const Run& run, const TableRow& row, const std::filesystem::path& placement);

/// Problem and rows as one JSON object.
std::string TableAsJson(const Run& run, const std::vector<TableRow>& rows);

}  // namespace emplace
