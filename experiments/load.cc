#include "experiments/load.h"

#include <algorithm>

#include "experiments/as_executed.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cost/coarsened_costs.h"
#include "framework/cost/cost_model.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

// Does the file define every kind that it names? Then the folder of device kinds need not be read,
// which takes longer than a small simulation.
bool NamesOnlyOwnKinds(const ConfigNode& cluster) {
  if (!cluster.IsMap() || !cluster.Has("device_kinds") || !cluster.Has("devices")) return false;
  const ConfigNode kinds = cluster.At("device_kinds"), devices = cluster.At("devices");
  if (!kinds.IsMap() || !devices.IsSequence()) return false;
  const std::vector<ConfigNode> elements = devices.Elements();
  return std::all_of(elements.begin(), elements.end(), [&](const ConfigNode& device) {
    return device.IsMap() && device.Has("kind") && device.At("kind").IsScalar() &&
           kinds.Has(device.At("kind").AsString());
  });
}

}  // namespace

std::shared_ptr<const Graph> LoadGraph(const std::filesystem::path& path) {
  return std::make_shared<const Graph>(ReadGraph(path, PrintWarning));
}

std::shared_ptr<const Cluster> LoadCluster(const std::filesystem::path& path) {
  return MakeCluster(ConfigNode::FromFile(path));
}

std::shared_ptr<const Cluster> MakeCluster(const ConfigNode& node) {
  std::map<std::string, DeviceKind> library;
  const std::filesystem::path folder = ConfigsFolder() / "device_kinds";
  std::error_code ignored;
  if (!NamesOnlyOwnKinds(node) && std::filesystem::is_directory(folder, ignored)) {
    library = ReadDeviceKinds(folder);
  }
  return std::make_shared<const Cluster>(ParseCluster(node, library));
}

std::shared_ptr<const CostTable> LoadCosts(const std::filesystem::path& path) {
  auto table = std::make_shared<const CostTable>(ReadCostTable(path));
  if (!table->complete) {
    PrintWarning(path.string() +
                 ": the profile was cut off; costs of ops that it did not reach are fitted");
  }
  return table;
}

std::vector<DeviceIndex> LoadedProblem::Expand(const Placement& placement) const {
  return ExpandPlacement(placement, exact->grouping());
}

LoadedProblem MakeProblem(std::shared_ptr<const Graph> graph,
                          std::shared_ptr<const Cluster> cluster,
                          const std::vector<Pass>& passes,
                          Objective objective,
                          bool contracted,
                          const std::string& where,
                          const CostTable* table,
                          Semantics semantics) {
  Costs costs =
      ComputeCosts(*graph,
                   *cluster,
                   where,
                   {.table = table, .apart = CountsNeighbors(semantics), .warn = PrintWarning});
  const Grouping grouping = ApplyPasses(*graph, passes, BestDeviceCosts(costs));
  LoadedProblem loaded;
  loaded.contracted = contracted;
  loaded.interval = FindInterval(table, graph->name(), semantics);
  if (contracted) {
    ContractedGraph small = ContractGroups(*graph, grouping);
    loaded.searched =
        std::make_shared<const Problem>(std::make_shared<const Graph>(std::move(small.graph)),
                                        std::move(small.groups),
                                        cluster,
                                        ContractCosts(costs, small.parts),
                                        objective);
  }
  loaded.exact =
      std::make_shared<const Problem>(graph, grouping, cluster, std::move(costs), objective);
  if (!contracted) loaded.searched = loaded.exact;
  EMPLACE_CHECK(loaded.searched->num_groups() == loaded.exact->num_groups());
  return loaded;
}

}  // namespace emplace
