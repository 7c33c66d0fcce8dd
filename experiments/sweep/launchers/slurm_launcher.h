#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/launchers/engine_command.h"
#include "experiments/sweep/launchers/launch_folder.h"

namespace emplace {

/// A line of squeue: a task of a job array.
struct SlurmTask {
  std::string job;  ///< number of the array
  int index = 0;    ///< in the array
  std::string state, reason;
  std::string script;
};

/// Nothing if the line, of squeue --format=%F|%K|%T|%r|%o, is of no task of an array.
std::optional<SlurmTask> ParseSlurmTask(const std::string& line);

/// Bundles as tasks of job arrays of Slurm, LaunchOrder::jobs at a time. The job script stays in
/// the sweep's folder (launch/1.slurm.sh). Tasks may be requeued: a second start of a task passes
/// over the runs that are done and goes on from checkpoints. The queue is asked whether tasks live,
/// every second or more seldom; while the controller does not answer, tasks count as alive. Jobs
/// outlive this process; the next start takes those that it finds in the queue for its own, by
/// their script. A task that runs and works at nothing for LauncherConfig::patience_seconds is
/// cancelled.
class SlurmLauncher : public Launcher {
 public:
  /// @throws RunError if there is no sbatch, or no controller answers
  explicit SlurmLauncher(const LaunchOrder& order);
  std::string description() const override;
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Task {
    std::vector<int> runs;  // empty once it was told, or for a task that has ended before
    std::optional<Clock::time_point> silent;  // runs and works at nothing, since then
    std::ptrdiff_t num_ended = 0;             // of its runs, when last looked at
  };
  struct Job {
    std::string id;  // of Slurm
    int submission = 0;
    std::vector<Task> tasks;
  };

  void FindEarlierJobs(const std::string& queue);
  std::vector<int> TakeEarlierJobs(const std::vector<int>& runs);
  void SubmitJob(std::vector<Task> tasks);
  void AskQueue();
  std::vector<EndedRuns> TellEnded(const std::map<std::string, SlurmTask>& queue);
  bool IsSilent(Task& task, const std::string& state, const std::vector<RunMark>& marks) const;

  const LaunchOrder& order_;
  LaunchFolder folder_;
  std::vector<Job> earlier_;  // of earlier starts of this sweep; until the first Submit()
  std::vector<Job> jobs_;
  std::unique_ptr<EngineCommand> queue_;  // squeue, while it runs
  std::vector<std::string> queue_lines_;
  Clock::time_point asked_, next_question_;
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

/// `bundles` of such a text; empty if it is none.
std::vector<std::string> BundlesOfSlurmScript(const std::string& text);

}  // namespace emplace
