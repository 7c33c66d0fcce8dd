#include "experiments/sweep/launchers/slurm_launcher.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/sweep/frozen_sweep.h"
#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace {

constexpr int kMaxArray = 1000;  // Slurm's default MaxArraySize, less one
// Slurm's reason for a task that it could not start, for example on a failed node. Such a task
// would wait for an administrator forever.
constexpr const char* kGivenUp = "launch failed requeued held";
constexpr const char* kRunning = "RUNNING";
constexpr auto kQueuePause = std::chrono::seconds(1);

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void CancelInQueue(std::vector<std::string> what) {
  what.insert(what.begin(), "scancel");
  try {
    RunEngineCommand(what);
  } catch (const RunError& error) {  // the job may have ended, or the controller is gone
    PrintWarning(fmt::format("launcher slurm: {}", error.what()));
  }
}

}  // namespace

SlurmLauncher::SlurmLauncher(const LaunchOrder& order)
    : order_(order), folder_(order.sweep.folder) {
  for (const SlurmTask& task : OwnTasks(Lines(RunEngineCommand(SqueueCommand())))) {
    earlier_.emplace(task.submission, task.index);
  }
}

// @param queue  lines of squeue
std::vector<SlurmTask> SlurmLauncher::OwnTasks(const std::vector<std::string>& queue) const {
  std::vector<SlurmTask> own;
  for (const std::string& line : queue) {
    std::optional<SlurmTask> task = ParseSlurmTask(line);
    const std::optional<int> submission =
        task ? folder_.SubmissionOf(task->script, "slurm.sh") : std::nullopt;
    if (!submission) continue;
    task->submission = *submission;
    own.push_back(*std::move(task));
  }
  return own;
}

// Returns the task. The bundles of an earlier start's submission are read from its script. nullptr
// if the script has no bundle for the task.
SlurmLauncher::Task* SlurmLauncher::FindTask(const Place& place) {
  const auto [submission, is_new] = tasks_.try_emplace(place.first);
  std::vector<Task>& tasks = submission->second;
  if (is_new) {
    const std::string script = ReadFile(folder_.file(place.first, "slurm.sh"));
    for (const std::string& bundle : BundlesOfSlurmScript(script)) {
      tasks.emplace_back().runs = ParseRuns(bundle, order_.sweep.folder.num_runs());
    }
  }
  return place.second < std::ssize(tasks) ? &tasks[static_cast<size_t>(place.second)] : nullptr;
}

std::string SlurmLauncher::description() const {
  return fmt::format("job arrays of Slurm, {} tasks at a time", order_.jobs);
}

void SlurmLauncher::Submit(const std::vector<int>& runs) {
  const std::vector<std::vector<int>> all =
      MakeBundles(LeaveToEarlierTasks(runs), order_.config.bundle, order_.jobs);
  for (size_t begin = 0; begin < all.size(); begin += kMaxArray) {
    const size_t end = std::min(all.size(), begin + kMaxArray);
    SubmitArray({all.begin() + begin, all.begin() + end});
  }
  next_question_ = Clock::now() + kQueuePause;
}

// Returns those of `runs`, ascending, that no task of an earlier start has.
std::vector<int> SlurmLauncher::LeaveToEarlierTasks(const std::vector<int>& runs) {
  std::vector<int> rest = runs;
  for (const Place& place : std::exchange(earlier_, {})) {
    Task* const task = FindTask(place);
    if (task == nullptr) continue;
    std::vector<int> left;
    std::ranges::set_intersection(rest, task->runs, std::back_inserter(task->owed));
    std::ranges::set_difference(rest, task->owed, std::back_inserter(left));
    rest = std::move(left);
  }
  return rest;
}

void SlurmLauncher::SubmitArray(const std::vector<std::vector<int>>& bundles) {
  const int submission = folder_.NextSubmission();
  std::vector<std::string> texts;
  std::vector<Task>& tasks = tasks_[submission];
  for (const std::vector<int>& bundle : bundles) {
    texts.push_back(RunsText(bundle));
    tasks.push_back({bundle, bundle, std::nullopt, 0});
  }
  const std::filesystem::path script = folder_.file(submission, "slurm.sh");
  WriteFileAtomically(script,
                      SlurmScript(WorkerCommand(order_),
                                  texts,
                                  SplitOptions(order_.config.options),
                                  folder_.file(submission, "%a.log").string(),
                                  order_.jobs,
                                  std::max(1, order_.config.cores)));
  RunEngineCommand({"sbatch", script.string()});
}

std::vector<EndedRuns> SlurmLauncher::Watch() {
  AskQueue();
  if (!queue_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return {};
  }
  for (const std::string& line : queue_->ReadLines(100)) queue_lines_.push_back(line);
  if (!queue_->ended()) return {};
  const bool answered = queue_->exit_code() == 0;
  if (!answered && !warned_) {
    PrintWarning("launcher slurm: squeue: " + queue_->errors() + "; asking again");
  }
  warned_ = !answered;
  queue_.reset();
  // The longer an answer takes, the less often squeue is called.
  next_question_ =
      Clock::now() + std::max<Clock::duration>(kQueuePause, 10 * (Clock::now() - asked_));
  const std::vector<SlurmTask> queue = OwnTasks(std::exchange(queue_lines_, {}));
  return answered ? TellEnded(queue) : std::vector<EndedRuns>();
}

// Starts squeue when it is due.
void SlurmLauncher::AskQueue() {
  if (queue_ || Clock::now() < next_question_) return;
  asked_ = Clock::now();
  queue_ = std::make_unique<EngineCommand>(SqueueCommand());
}

// @param queue  tasks that wait, run or complete
std::vector<EndedRuns> SlurmLauncher::TellEnded(const std::vector<SlurmTask>& queue) {
  const std::vector<RunProgress> marks = order_.board.Marks();
  // A worker that helps others shows no work in its own bundle, only in the number of active runs.
  const bool all_work =
      order_.board.NumClaimed() >= std::ranges::count(queue, kRunning, &SlurmTask::state);
  std::set<Place> alive;
  for (const SlurmTask& now : queue) {
    Task* const task = FindTask({now.submission, now.index});
    if (task == nullptr) continue;
    alive.emplace(now.submission, now.index);
    const bool works = ShowsWork(*task, marks) || all_work || now.state != kRunning;
    if (now.reason.find(kGivenUp) != std::string::npos || IsSilent(*task, works)) {
      // After it has left the queue, its runs are submitted again.
      CancelInQueue({fmt::format("{}_{}", now.job, now.index)});
    }
  }
  std::vector<EndedRuns> ended;
  for (auto& [submission, tasks] : tasks_) {
    for (int index = 0; index < std::ssize(tasks); ++index) {
      std::vector<int>& owed = tasks[static_cast<size_t>(index)].owed;
      if (owed.empty() || alive.contains({submission, index})) continue;
      ended.push_back({std::exchange(owed, {}), folder_.LogTail(submission, index)});
    }
  }
  return ended;
}

// Returns whether a run of its bundle is active or has ended since the last check.
// @param marks  [runs]
bool SlurmLauncher::ShowsWork(Task& task, const std::vector<RunProgress>& marks) const {
  const auto has_ended = [&](int run) {
    return marks[run] == RunProgress::kDone || marks[run] == RunProgress::kFailed;
  };
  const std::ptrdiff_t num_ended = std::ranges::count_if(task.runs, has_ended);
  return std::exchange(task.num_ended, num_ended) != num_ended ||
         std::ranges::any_of(
             task.runs, [&](int run) { return !has_ended(run) && order_.board.IsClaimed(run); });
}

// Returns whether the task has run without work for too long.
bool SlurmLauncher::IsSilent(Task& task, bool works) const {
  if (works || !task.silent) task.silent = works ? std::nullopt : std::optional(Clock::now());
  return task.silent && Clock::now() - *task.silent >
                            std::chrono::duration<double>(order_.config.patience_seconds);
}

void SlurmLauncher::Cancel() {
  std::set<std::string> jobs;
  try {
    for (const SlurmTask& task : OwnTasks(Lines(RunEngineCommand(SqueueCommand())))) {
      if (task.state == "PENDING") jobs.insert(task.job);
    }
  } catch (const RunError& error) {  // tasks that begin late find the stop request
    PrintWarning(fmt::format("launcher slurm: {}", error.what()));
  }
  for (const std::string& job : jobs) CancelInQueue({"--state=PENDING", job});
}

}  // namespace emplace
