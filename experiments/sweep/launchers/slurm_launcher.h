#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/launchers/engine_command.h"
#include "experiments/sweep/launchers/launch_folder.h"

namespace emplace {

/// Bundles as tasks of job arrays of Slurm, LaunchOrder::jobs at a time. The job script stays in
/// the sweep's folder (launch/1.slurm.sh). Tasks may be requeued: a second start of a task passes
/// over the runs that are done and goes on from checkpoints. The queue is asked whether tasks live,
/// every second or more seldom; while the controller does not answer, tasks count as alive. Jobs
/// outlive this process; --resume waits for the runs that they have claimed.
class SlurmLauncher : public Launcher {
 public:
  /// @throws RunError if there is no sbatch, or no controller answers
  explicit SlurmLauncher(const LaunchOrder& order);
  std::string description() const override;
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override;

 private:
  struct Job {
    std::string id;  // of Slurm
    int submission = 0;
    std::vector<std::vector<int>> bundles;  // empty once it was told
  };

  void AskQueue();
  std::vector<EndedRuns> TellEnded(const std::set<std::string>& alive);

  const LaunchOrder& order_;
  LaunchFolder folder_;
  std::vector<Job> jobs_;
  std::unique_ptr<EngineCommand> queue_;  // squeue, while it runs
  std::vector<std::string> queue_lines_;
  std::chrono::steady_clock::time_point asked_, next_question_;
  bool warned_ = false;
};

/// The job script. Task N gives the N-th line of `bundles` to its worker.
/// @param options  of sbatch, a word each
std::string SlurmScript(const std::vector<std::string>& worker,
                        const std::vector<std::string>& bundles,
                        const std::vector<std::string>& options,
                        const std::string& log,
                        int workers,
                        int cores);

}  // namespace emplace
