#include "experiments/sweep/launcher.h"

#include <functional>
#include <map>

#include "experiments/sweep/launchers/hyperqueue_launcher.h"
#include "experiments/sweep/launchers/local_launcher.h"
#include "experiments/sweep/launchers/mpi_launcher.h"
#include "experiments/sweep/launchers/slurm_launcher.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

template <class T>
std::unique_ptr<Launcher> Make(const LaunchOrder& order) {
  return std::make_unique<T>(order);
}

const std::map<std::string, std::function<std::unique_ptr<Launcher>(const LaunchOrder&)>>
    kLaunchers = {
        {"hyperqueue", &Make<HyperQueueLauncher>},
        {"local", &Make<LocalLauncher>},
        {"mpi", &Make<MpiLauncher>},
        {"slurm", &Make<SlurmLauncher>},
};

}  // namespace

std::unique_ptr<Launcher> MakeLauncher(const LaunchOrder& order) {
  RequireLauncher(order.config.name);
  return kLaunchers.at(order.config.name)(order);
}

void RequireLauncher(const std::string& name) {
  if (!kLaunchers.contains(name)) ThrowUnknown("--launcher", "launcher", name, LauncherNames());
}

std::vector<std::string> LauncherNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kLaunchers) names.push_back(name);
  return names;
}

}  // namespace emplace
