#include "experiments/sweep/launchers/local_launcher.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "framework/base/parallel.h"

namespace emplace {

LocalLauncher::LocalLauncher(const LaunchOrder& order)
    : worker_(order.sweep,
              order.board,
              {.jobs = order.jobs,
               .cores = std::max(1, NumCores() / order.jobs),
               .checkpoint_seconds = order.checkpoint_seconds}) {
}

std::string LocalLauncher::description() const {
  return "processes here";
}

void LocalLauncher::Submit(const std::vector<int>& runs) {
  worker_.Add(runs);
  submitted_.insert(submitted_.end(), runs.begin(), runs.end());
}

std::vector<EndedRuns> LocalLauncher::Watch() {
  if (worker_.idle()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  worker_.Step();
  if (!worker_.idle() || submitted_.empty()) return {};
  return {{std::exchange(submitted_, {}), ""}};
}

}  // namespace emplace
