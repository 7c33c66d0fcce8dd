#include <memory>
#include <string>

#include "experiments/commands.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/info/cluster_info.h"
#include "experiments/problem/load.h"

namespace emplace {
namespace {

struct ClusterOptions {
  std::string file;
  bool json = false;
};

int ShowCluster(const ClusterOptions& options) {
  const auto cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.file, "cluster"));
  Print(options.json ? FormatClusterInfoJson(*cluster)
                     : FormatClusterInfo(*cluster, ViewOfOutput().columns));
  return 0;
}

}  // namespace

void AddClusterCommand(Command program) {
  auto options = std::make_shared<ClusterOptions>();
  Command command = program.AddCommand("cluster", "Describe a cluster file");
  Command info = command.AddCommand(
      "info", "Devices, channels, and the bandwidth from each device to each other");
  info.Add("file", options->file, "cluster: a name of `emplace list clusters` or a path")
      .Required();
  info.AddFlag("--json", options->json, "as JSON");
  info.Does([options] { return ShowCluster(*options); });
}

}  // namespace emplace
