#pragma once

#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/run_worker.h"

namespace emplace {

/// Runs LaunchOrder::jobs forked processes at a time, which share the cores. They die with this
/// process.
class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(const LaunchOrder& order);
  std::string description() const override;
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override {}

 private:
  RunWorker worker_;
  std::vector<int> submitted_;
};

}  // namespace emplace
