#pragma once

// Everything one run knows, and how it tells people and programs about it.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/load.h"
#include "experiments/run/run_resume.h"
#include "experiments/run/run_table.h"
#include "simulator/bounds.h"

namespace emplace {

struct SearchTask {
  int agent = 0;  ///< index into RunPlan::agents
  std::uint64_t seed = 0;
};

/// From the plan to the results.
struct Run {
  RunPlan plan;
  LoadedProblem problem;
  Bounds bounds;
  TableScale scale;
  std::vector<SearchTask> tasks;
  EarlierSearches earlier;            ///< of a resumed run
  std::vector<SearchResult> results;  ///< [tasks]
};

/// Graph, cluster, model, bounds; what a resumed run goes on from.
std::string HeaderText(const Run& run);

/// "41.30 ms", "OOM (missing ...)", "failed: ..." or "nothing evaluated".
std::string ShortOutcome(const SearchResult& result, const Cluster& cluster);

/// One row per agent, the best first.
std::vector<TableRow> MakeRows(const Run& run);

/// Where the best placement's time comes from, and with a contracted problem what the placement
/// takes op by op.
std::string BestText(const Run& run, const TableRow& row, const std::filesystem::path& placement);

/// Header, rows and sums as one JSON object.
std::string TableAsJson(const Run& run, const std::vector<TableRow>& rows);

}  // namespace emplace
