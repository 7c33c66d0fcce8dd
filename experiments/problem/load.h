#pragma once

// Makes the problem that agents search from the files that the user named.

#include <filesystem>
#include <memory>
#include <vector>

#include "experiments/problem/coarsening_passes.h"
#include "experiments/problem/step_interval.h"
#include "framework/cost/cost_table.h"
#include "framework/search/problem.h"
#include "simulator/semantics.h"

namespace emplace {

/// Reads a graph file (framework/graph/FORMAT.md). Prints warnings, including those of
/// FindDoubts(), to stderr.
/// @param strict  refuses a graph with warnings, after printing them
/// @throws InputError as ReadGraph() does
std::shared_ptr<const Graph> LoadGraph(const std::filesystem::path& path, bool strict = false);

/// Warns on stderr if ops name device kinds or devices that do not exist.
/// @param cluster  may be nullptr: devices are then not looked at; adds its kinds to the classes
///   and the kinds of the configs folder
/// @param where    names the graph in messages
/// @param strict   refuses a graph with warnings, after printing them
/// @throws InputError
void CheckDeviceKinds(const Graph& graph,
                      const Cluster* cluster,
                      const std::string& where,
                      bool strict = false);

/// Reads a cluster file (framework/cluster/FORMAT.md), or the cluster of an instance, a graph file
/// (.json, .json.gz; framework/graph/FORMAT.md). Device kinds that the file names but does not
/// define are read from the configs folder.
/// @throws InputError as ParseCluster() does, and for a graph file without the key `instance`
std::shared_ptr<const Cluster> LoadCluster(const std::filesystem::path& path);
/// Makes a cluster from a config in memory, likewise.
std::shared_ptr<const Cluster> MakeCluster(const ConfigNode& node);

/// Reads measured costs (framework/cost/FORMAT.md); warns on stderr if their profile was cut off.
/// @throws InputError as ReadCostTable() does
std::shared_ptr<const CostTable> LoadCosts(const std::filesystem::path& path);

/// The problem that agents search, and the problem of the whole graph from which it is made.
struct LoadedProblem {
  /// Every op simulated, with the groups that are placed together.
  std::shared_ptr<const Problem> exact;
  /// The problem for agents: `exact` itself or, if `simulate_groups`, the graph in which each group
  /// is one op or a few (ContractGroups()). It is faster to simulate, but an approximation.
  std::shared_ptr<const Problem> searched;
  bool simulate_groups = false;
  /// The interval of simulated step times of `exact` (FindInterval()).
  StepInterval interval;

  /// Returns the device of each op of `exact` for a placement of the groups.
  /// @return [exact->num_ops()]
  std::vector<DeviceIndex> Expand(const Placement& placement) const;
};

/// Chooses the costs of all ops (framework/cost/FORMAT.md, "How the cost of an op is found"),
/// coarsens the graph and makes the problem.
/// @param passes      coarsening, in order
/// @param simulate_groups  agents search the graph of the groups
/// @param where       names the run in messages about costs
/// @param table       measured costs, or nullptr; a warning goes to stderr if it lacks a device
///   kind of the cluster
/// @param semantics   semantics of the simulation that uses the costs
/// @throws InputError as ComputeCosts(), ApplyPasses(), ContractGroups() and Problem do
LoadedProblem MakeProblem(std::shared_ptr<const Graph> graph,
                          std::shared_ptr<const Cluster> cluster,
                          const std::vector<CoarseningPass>& passes,
                          Objective objective,
                          bool simulate_groups,
                          const std::string& where,
                          const CostTable* table = nullptr,
                          Semantics semantics = Semantics::kStream);

}  // namespace emplace
