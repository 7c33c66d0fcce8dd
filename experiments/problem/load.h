#pragma once

// From the files that the user named to the problem that agents search.

#include <filesystem>
#include <memory>
#include <vector>

#include "experiments/problem/passes.h"
#include "experiments/problem/step_interval.h"
#include "framework/cost/cost_table.h"
#include "framework/search/problem.h"
#include "simulator/semantics.h"

namespace emplace {

/// Reads a graph file (framework/graph/FORMAT.md); warnings go to stderr, and so does what
/// FindDoubts() finds.
/// @param strict  refuses a graph for its warnings, after these
/// @throws InputError as ReadGraph() does
std::shared_ptr<const Graph> LoadGraph(const std::filesystem::path& path, bool strict = false);

/// Warns on stderr if ops ask for device kinds that nothing is of.
/// @param cluster  whose kinds are known beside classes and those of the configs folder, or nullptr
/// @param where    stands for the graph in messages
/// @param strict   refuses a graph for its warnings, after these
/// @throws InputError
void CheckDeviceKinds(const Graph& graph,
                      const Cluster* cluster,
                      const std::string& where,
                      bool strict = false);

/// Reads a cluster file (framework/cluster/FORMAT.md). Device kinds that the file names and does
/// not define are those of the configs folder.
/// @throws InputError as ParseCluster() does
std::shared_ptr<const Cluster> LoadCluster(const std::filesystem::path& path);
/// The same from a cluster in memory.
std::shared_ptr<const Cluster> MakeCluster(const ConfigNode& node);

/// Reads measured costs (framework/cost/FORMAT.md); warns on stderr if the profile behind them was
/// cut off.
/// @throws InputError as ReadCostTable() does
std::shared_ptr<const CostTable> LoadCosts(const std::filesystem::path& path);

/// The problem that agents search, and the problem of the whole graph behind it.
struct LoadedProblem {
  /// Every op simulated, with the groups that are placed together.
  std::shared_ptr<const Problem> exact;
  /// What agents see: `exact` itself or, if `contracted`, the graph in which each group is one op
  /// or a few (ContractGroups()): faster to simulate, but an approximation.
  std::shared_ptr<const Problem> searched;
  bool contracted = false;
  /// Of simulated step times of `exact` (FindInterval()).
  StepInterval interval;

  /// A placement of the groups, which both problems share, as a device for each op of `exact`.
  /// @return [exact->num_ops()]
  std::vector<DeviceIndex> Expand(const Placement& placement) const;
};

/// Chooses the costs of all ops (framework/cost/FORMAT.md,
/// "How the cost of an op is found"), coarsens the graph and makes the problem.
/// @param passes      coarsening, in order
/// @param contracted  search the graph of the groups
/// @param where       stands for the run in messages about costs
/// @param table       measured costs, or nullptr; a warning goes to stderr if it lacks a device
///   kind of the cluster
/// @param semantics  of the simulation that the costs are for
/// @throws InputError as ComputeCosts(), ApplyPasses(), ContractGroups() and Problem do
LoadedProblem MakeProblem(std::shared_ptr<const Graph> graph,
                          std::shared_ptr<const Cluster> cluster,
                          const std::vector<Pass>& passes,
                          Objective objective,
                          bool contracted,
                          const std::string& where,
                          const CostTable* table = nullptr,
                          Semantics semantics = Semantics::kStream);

}  // namespace emplace
