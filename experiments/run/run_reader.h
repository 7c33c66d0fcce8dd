#pragma once

// The problem and the findings of an earlier run, read back from its results file.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/machine/verification.h"
#include "framework/cost/cost_table.h"

namespace emplace {

/// Files to read instead of those that the results name; empty: as recorded.
struct RunFiles {
  std::string graph, cluster, costs;
};

struct EarlierRun {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CostTable> costs;  ///< nullptr: the graph's own and the model
  std::filesystem::path costs_path;        ///< empty without
  std::string semantics;                   ///< that the run searched with
  /// The best placement of each agent and seed, one device per op, best first. Where several found
  /// the same there is one with all their labels ("etf, m_etf").
  std::vector<Candidate> found;
};

/// @throws InputError naming results file and file: one that is not there any more, a graph of
/// another name or with other ops, a cluster with other devices, a run that found nothing
EarlierRun ReadRun(const std::filesystem::path& results, const RunFiles& files = {});

/// Every op on its own, the costs of the run. `where` stands for the run in messages.
std::shared_ptr<const Problem> MakeExactProblem(const EarlierRun& run, const std::string& where);

}  // namespace emplace
