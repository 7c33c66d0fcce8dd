#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/launchers/engine_command.h"
#include "experiments/sweep/launchers/launch_folder.h"

namespace emplace {

/// Bundles as jobs of HyperQueue, through its Python client or the command `hq`
/// (launchers/hyperqueue_client.py tells which). Where no server runs, a server with
/// LaunchOrder::jobs workers of `cores` cores is started in a process of its own, which ends with
/// this one. A server that was there before keeps its jobs when this process dies.
class HyperQueueLauncher : public Launcher {
 public:
  /// @throws RunError if there is no python3, or it finds neither client, with what to install
  explicit HyperQueueLauncher(const LaunchOrder& order);
  std::string description() const override { return description_; }
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override {}  // a worker that begins late finds the request to stop on the board

 private:
  struct Submission {
    int number = 0;
    std::vector<std::vector<int>> bundles;  // empty once it was told
    std::unique_ptr<EngineCommand> client;  // writes a line for each bundle that has ended
  };

  const LaunchOrder& order_;
  LaunchFolder folder_;
  std::unique_ptr<EngineCommand> cluster_;  // nullptr: a server that was there before
  std::string server_, description_;
  std::vector<Submission> submissions_;
};

}  // namespace emplace
