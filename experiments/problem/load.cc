#include "experiments/problem/load.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cost/coarsened_costs.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/graph_doubts.h"
#include "framework/graph/graph_io.h"
#include "framework/search/costed_problem.h"

namespace emplace {
namespace {

// Returns whether the file defines every kind that it names, and they name no fit of other kinds.
// The folder of device kinds then need not be read, which takes longer than a small simulation.
bool NamesOnlyOwnKinds(const ConfigNode& cluster) {
  if (!cluster.IsMap() || !cluster.Has("device_kinds") || !cluster.Has("devices")) return false;
  const ConfigNode kinds = cluster.At("device_kinds"), devices = cluster.At("devices");
  if (!kinds.IsMap() || !devices.IsSequence()) return false;
  for (const std::string& name : kinds.Keys()) {
    const ConfigNode kind = kinds.At(name);
    if (kind.IsMap() && kind.Has("fitted") && kind.At("fitted").IsScalar()) return false;
  }
  const std::vector<ConfigNode> elements = devices.Elements();
  return std::all_of(elements.begin(), elements.end(), [&](const ConfigNode& device) {
    return device.IsMap() && device.Has("kind") && device.At("kind").IsScalar() &&
           kinds.Has(device.At("kind").AsString());
  });
}

std::map<std::string, DeviceKind> KindsOfConfigs() {
  const std::filesystem::path folder = ConfigsFolder() / "device_kinds";
  std::error_code ignored;
  return std::filesystem::is_directory(folder, ignored) ? ReadDeviceKinds(folder)
                                                        : std::map<std::string, DeviceKind>();
}

// Prints the warnings of a graph.
// @param strict  refuses a graph with warnings, after printing them
void PrintGraphWarnings(const std::vector<std::string>& warnings,
                        const std::string& where,
                        bool strict) {
  for (const std::string& warning : warnings) PrintWarning(warning);
  if (!strict || warnings.empty()) return;
  throw InputError(fmt::format("{}: --strict refuses the graph for {}",
                               where,
                               warnings.size() == 1
                                   ? "the warning above"
                                   : fmt::format("the {} warnings above", warnings.size())));
}

}  // namespace

std::shared_ptr<const Graph> LoadGraph(const std::filesystem::path& path, bool strict) {
  std::vector<std::string> warnings;
  auto graph = std::make_shared<const Graph>(ReadGraph(path, [&](const std::string& warning) {
    PrintWarning(warning);
    warnings.push_back(warning);
  }));
  for (const std::string& doubt : FindDoubts(*graph)) {
    warnings.push_back(path.string() + ": " + doubt);
  }
  PrintGraphWarnings(warnings, path.string(), strict);
  return graph;
}

void CheckDeviceKinds(const Graph& graph,
                      const Cluster* cluster,
                      const std::string& where,
                      bool strict) {
  std::vector<std::string> known = DeviceClassNames();
  if (cluster != nullptr) {
    for (const DeviceKind& kind : cluster->kinds()) known.push_back(kind.name);
  }
  std::vector<std::string> warnings = FindUnknownDeviceKinds(graph, known);
  if (!warnings.empty()) {
    for (const auto& [name, kind] : KindsOfConfigs()) known.push_back(name);
    warnings = FindUnknownDeviceKinds(graph, known);
  }
  if (cluster != nullptr) {
    std::ranges::move(FindUnmatchedDevices(graph, cluster->DeviceNames()),
                      std::back_inserter(warnings));
  }
  for (std::string& warning : warnings) warning.insert(0, where + ": ");
  PrintGraphWarnings(warnings, where, strict);
}

std::shared_ptr<const Cluster> LoadCluster(const std::filesystem::path& path) {
  const std::string name = path.string();
  if (!name.ends_with(".json.gz") && !name.ends_with(".json")) {
    return MakeCluster(ConfigNode::FromFile(path));
  }
  static constexpr std::string_view kRecords[] = {"tensors", "ops"};
  Json cluster;
  VisitJson(ReadFile(path), name, kRecords, [&](const JsonPart& part) {
    if (part.key == kInstanceKey && part.value.is_object()) cluster = part.value["cluster"];
  });
  if (!cluster.is_object()) {
    throw InputError(
        fmt::format("{}: has no cluster under the key \"instance\"; expected a cluster file "
                    "(.yaml), or a graph "
                    "file that is an instance",
                    name));
  }
  return MakeCluster(ConfigNode::FromString(cluster.dump(), name + ": instance"));
}

std::shared_ptr<const Cluster> MakeCluster(const ConfigNode& node) {
  std::map<std::string, DeviceKind> library;
  if (!NamesOnlyOwnKinds(node)) library = KindsOfConfigs();
  return std::make_shared<const Cluster>(ParseCluster(node, library));
}

std::shared_ptr<const CostTable> LoadCosts(const std::filesystem::path& path) {
  auto table = std::make_shared<const CostTable>(ReadCostTable(path));
  if (!table->complete) {
    PrintWarning(path.string() +
                 ": the profile was interrupted; costs of ops that it did not measure are fitted");
  }
  return table;
}

std::vector<DeviceIndex> LoadedProblem::Expand(const Placement& placement) const {
  return ExpandPlacement(placement, exact->grouping());
}

LoadedProblem MakeProblem(std::shared_ptr<const Graph> graph,
                          std::shared_ptr<const Cluster> cluster,
                          const std::vector<CoarseningPass>& passes,
                          Objective objective,
                          bool simulate_groups,
                          const std::string& where,
                          const CostTable* table,
                          Semantics semantics) {
  CostedProblem costed(graph,
                       cluster,
                       where,
                       {.table = table, .apart = CountsNeighbors(semantics), .warn = PrintWarning});
  CheckDeviceKinds(*graph, cluster.get(), where);
  Grouping grouping = ApplyPasses(*graph, passes, BestDeviceCosts(costed.costs));
  LoadedProblem loaded;
  loaded.simulate_groups = simulate_groups;
  loaded.interval = FindInterval(table, graph->name(), semantics);
  if (simulate_groups) {
    ContractedGraph small = ContractGroups(*graph, grouping);
    loaded.searched =
        std::make_shared<const Problem>(std::make_shared<const Graph>(std::move(small.graph)),
                                        std::move(small.groups),
                                        cluster,
                                        ContractCosts(costed.costs, small.parts),
                                        objective);
  }
  loaded.exact = std::move(costed).WithGroups(std::move(grouping), objective);
  if (!simulate_groups) loaded.searched = loaded.exact;
  EMPLACE_CHECK(loaded.searched->num_groups() == loaded.exact->num_groups());
  return loaded;
}

}  // namespace emplace
