#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/launchers/engine_command.h"
#include "experiments/sweep/launchers/launch_folder.h"

namespace emplace {

/// Runs bundles as jobs of HyperQueue, through its Python client or the command `hq` (see
/// launchers/hyperqueue_client.py). If no server runs, it starts a server with LaunchOrder::jobs
/// workers of `cores` cores in a separate process, which ends with this one. A server that ran
/// before keeps its jobs when this process dies.
class HyperQueueLauncher : public Launcher {
 public:
  /// @throws RunError if python3 is missing or finds neither client; the message names the packages
  explicit HyperQueueLauncher(const LaunchOrder& order);
  std::string description() const override { return description_; }
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override {}  // a worker that begins late finds the stop request on the board

 private:
  struct Submission {
    int number = 0;
    std::vector<std::vector<int>> bundles;  // empty after its end was reported
    std::unique_ptr<EngineCommand> client;  // writes a line for each ended bundle
  };

  const LaunchOrder& order_;
  LaunchFolder folder_;
  std::unique_ptr<EngineCommand> cluster_;  // nullptr: the server ran before
  std::string server_, description_;
  std::vector<Submission> submissions_;
};

}  // namespace emplace
