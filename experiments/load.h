#pragma once

// From what the user named to a Problem.

#include <filesystem>
#include <memory>
#include <vector>

#include "experiments/passes.h"
#include "framework/cost/cost_table.h"
#include "framework/search/problem.h"

namespace emplace {

/// Reads a graph; warnings go to stderr.
std::shared_ptr<const Graph> LoadGraph(const std::filesystem::path& path);

/// Reads a cluster with the device kinds of ConfigsFolder(). The folder is left unread when the
/// file defines every kind that it names.
std::shared_ptr<const Cluster> LoadCluster(const std::filesystem::path& path);

/// Reads measured costs; warns on stderr if the profile behind them was cut off.
std::shared_ptr<const CostTable> LoadCosts(const std::filesystem::path& path);

/// What an op costs on its best device [ns]: the weight that coarsening goes by. @return [num_ops]
std::vector<double> BestDeviceCosts(const Costs& costs);

/// The costs of Contract(graph, grouping): sums over each group; the rung of a sum is that of its
/// largest part.
Costs ContractCosts(const Costs& costs, const Grouping& grouping);

/// The problem that agents search and the op-by-op problem behind it.
struct LoadedProblem {
  /// Every op simulated, with the groups that are placed together.
  std::shared_ptr<const Problem> exact;
  /// What is searched: `exact`, or with `contracted` the graph of its groups, an approximation.
  std::shared_ptr<const Problem> searched;
  bool contracted = false;

  /// Device per op of the exact problem from a placement of the searched one; both have the same
  /// groups.
  /// @return [exact->num_ops()]
  std::vector<DeviceIndex> Expand(const Placement& placement) const;
};

/// @param where  stands for the run in messages about costs
/// @param table  measured costs, or nullptr; a warning goes to stderr if it does not know a device
///   kind of the cluster
/// @throws InputError as Graph, ComputeCosts, Contract and Problem do
LoadedProblem MakeProblem(std::shared_ptr<const Graph> graph,
                          std::shared_ptr<const Cluster> cluster,
                          const std::vector<Pass>& passes,
                          Objective objective,
                          bool contracted,
                          const std::string& where,
                          const CostTable* table = nullptr);

}  // namespace emplace
