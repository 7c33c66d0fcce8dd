#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/launchers/engine_command.h"
#include "experiments/sweep/launchers/launch_folder.h"
#include "experiments/sweep/launchers/slurm_texts.h"

namespace emplace {

/// Runs bundles as tasks of job arrays of Slurm, LaunchOrder::jobs at a time. The job script stays
/// in the sweep's folder (launch/1.slurm.sh). Tasks may be requeued: the second start of a task
/// skips the runs that are done and resumes from checkpoints. squeue is called at most once a
/// second to find the tasks that live; while the controller does not answer, tasks count as alive.
/// Jobs outlive this process; the next start finds them in the queue and leaves their runs to them.
///
/// Scripts identify tasks, because job numbers do not: a controller that is killed before it has
/// saved its state may reuse a number, or list ended tasks again. A running task that executes
/// nothing for LauncherConfig::patience_seconds is cancelled.
class SlurmLauncher : public Launcher {
 public:
  /// @throws RunError if sbatch is missing, or no controller answers
  explicit SlurmLauncher(const LaunchOrder& order);
  std::string description() const override;
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override;

 private:
  using Clock = std::chrono::steady_clock;
  using Place = std::pair<int, int>;  // submission, index in its array
  struct Task {
    std::vector<int> runs;                    // its bundle
    std::vector<int> owed;                    // runs to be reported when it has ended
    std::optional<Clock::time_point> silent;  // start of the time in which it runs without work
    std::ptrdiff_t num_ended = 0;             // ended runs of the bundle at the last check
  };

  std::vector<SlurmTask> OwnTasks(const std::vector<std::string>& queue) const;
  Task* FindTask(const Place& place);
  std::vector<int> LeaveToEarlierTasks(const std::vector<int>& runs);
  void SubmitArray(const std::vector<std::vector<int>>& bundles);
  void AskQueue();
  std::vector<EndedRuns> TellEnded(const std::vector<SlurmTask>& queue);
  bool ShowsWork(Task& task, const std::vector<RunProgress>& marks) const;
  bool IsSilent(Task& task, bool works) const;

  const LaunchOrder& order_;
  LaunchFolder folder_;
  std::set<Place> earlier_;                 // in the queue before the first Submit()
  std::map<int, std::vector<Task>> tasks_;  // by submission
  std::unique_ptr<EngineCommand> queue_;    // squeue while it runs
  std::vector<std::string> queue_lines_;
  Clock::time_point asked_, next_question_;
  bool warned_ = false;
};

}  // namespace emplace
