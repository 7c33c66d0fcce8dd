#include "experiments/sweep/launchers/slurm_launcher.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "experiments/output.h"
#include "experiments/sweep/frozen_sweep.h"
#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace {

constexpr int kMaxArray = 1000;  // Slurm's default MaxArraySize, less one
// Slurm's reason of a task that it could not start, as on a node that fell ill: it would wait for
// an administrator for ever.
constexpr const char* kGivenUp = "launch failed requeued held";
constexpr auto kQueuePause = std::chrono::seconds(1);
constexpr std::string_view kRunsBegin = "\nruns=(\n", kRunsEnd = "\n)\n";

// All jobs of the user: to ask for a number that Slurm has forgotten is an error.
std::vector<std::string> SqueueCommand() {
  return {"squeue", "--noheader", "--me", "--array", "--format=%F|%K|%T|%r|%o"};
}

std::string TaskName(const std::string& job, std::ptrdiff_t index) {
  return fmt::format("{}_{}", job, index);
}

void CancelTask(const std::string& task) {
  try {
    RunEngineCommand({"scancel", task});
  } catch (const RunError& error) {  // it may have ended meanwhile, or the controller is gone
    PrintWarning(fmt::format("launcher slurm: {}", error.what()));
  }
}

}  // namespace

std::optional<SlurmTask> ParseSlurmTask(const std::string& line) {
  std::vector<std::string> words;
  size_t begin = 0;
  for (int i = 0; i < 4; ++i) {
    const size_t end = line.find('|', begin);
    if (end == std::string::npos) return std::nullopt;
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  int index = 0;
  const char* const last = words[1].data() + words[1].size();
  if (std::from_chars(words[1].data(), last, index).ptr != last || words[1].empty()) {
    return std::nullopt;
  }
  return SlurmTask{words[0], index, words[2], words[3], line.substr(begin)};
}

std::string SlurmScript(const std::vector<std::string>& worker,
                        const std::vector<std::string>& bundles,
                        const std::vector<std::string>& options,
                        const std::string& log,
                        int workers,
                        int cores) {
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "# Written by `emplace sweep`: a task per bundle of runs. To be given to sbatch once more "
      "at\n"
      "# will: a worker passes over what is done or is worked at.\n"
      "#SBATCH --job-name=emplace-sweep\n"
      "#SBATCH --array=0-{}%{}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output={}\n",
      bundles.size() - 1,
      workers,
      cores,
      log);
  for (const std::string& option : options) text += "#SBATCH " + option + "\n";
  text.pop_back();
  text += kRunsBegin;
  for (const std::string& bundle : bundles) text += "  " + bundle + "\n";
  text.pop_back();
  text += kRunsEnd;
  text += "exec";
  for (const std::string& word : worker) text += " " + ShellQuote(word);
  return text + " --runs \"${runs[SLURM_ARRAY_TASK_ID]}\"\n";
}

std::vector<std::string> BundlesOfSlurmScript(const std::string& text) {
  std::vector<std::string> bundles;
  const size_t begin = text.find(kRunsBegin), end = text.find(kRunsEnd, begin);
  if (begin == std::string::npos || end == std::string::npos) return bundles;
  const size_t first = begin + kRunsBegin.size();
  std::istringstream words(text.substr(first, end - first));
  for (std::string bundle; words >> bundle;) bundles.push_back(bundle);
  return bundles;
}

SlurmLauncher::SlurmLauncher(const LaunchOrder& order)
    : order_(order), folder_(order.sweep.folder) {
  FindEarlierJobs(RunEngineCommand(SqueueCommand()));
}

void SlurmLauncher::FindEarlierJobs(const std::string& queue) {
  std::map<std::string, std::vector<std::string>> bundles;  // by job
  std::istringstream lines(queue);
  for (std::string line; std::getline(lines, line);) {
    const std::optional<SlurmTask> found = ParseSlurmTask(line);
    const std::optional<int> submission =
        found ? folder_.SubmissionOf(found->script, "slurm.sh") : std::nullopt;
    if (!submission) continue;
    const auto [job, is_new] = bundles.try_emplace(found->job);
    if (is_new) {
      job->second = BundlesOfSlurmScript(ReadFile(found->script));
      earlier_.push_back({found->job, *submission, std::vector<Task>(job->second.size())});
    }
    const size_t index = static_cast<size_t>(found->index);
    if (index >= job->second.size()) continue;
    const auto place = std::ranges::find(earlier_, found->job, &Job::id);
    place->tasks[index].runs = ParseRuns(job->second[index], order_.sweep.folder.num_runs());
  }
}

std::string SlurmLauncher::description() const {
  return fmt::format("job arrays of Slurm, {} tasks at a time", order_.jobs);
}

void SlurmLauncher::Submit(const std::vector<int>& runs) {
  const std::vector<int> rest = TakeEarlierJobs(runs);
  std::vector<Task> tasks;
  for (std::vector<int>& bundle : MakeBundles(rest, order_.config.bundle, order_.jobs)) {
    if (std::ssize(tasks) == kMaxArray) SubmitJob(std::exchange(tasks, {}));
    tasks.push_back({std::move(bundle)});
  }
  if (!tasks.empty()) SubmitJob(std::move(tasks));
  next_question_ = Clock::now() + kQueuePause;
}

// Those of `runs`, ascending, that no task of an earlier start has.
std::vector<int> SlurmLauncher::TakeEarlierJobs(const std::vector<int>& runs) {
  std::vector<int> rest = runs;
  for (Job& job : std::exchange(earlier_, {})) {
    for (Task& task : job.tasks) {
      std::vector<int> taken, left;
      std::ranges::set_intersection(rest, task.runs, std::back_inserter(taken));
      std::ranges::set_difference(rest, taken, std::back_inserter(left));
      task.runs = std::move(taken);
      rest = std::move(left);
    }
    jobs_.push_back(std::move(job));
  }
  return rest;
}

void SlurmLauncher::SubmitJob(std::vector<Task> tasks) {
  std::vector<std::string> bundles;
  for (const Task& task : tasks) bundles.push_back(RunsText(task.runs));
  const int submission = folder_.NextSubmission();
  const std::filesystem::path script = folder_.file(submission, "slurm.sh");
  WriteFileAtomically(script,
                      SlurmScript(WorkerCommand(order_),
                                  bundles,
                                  SplitOptions(order_.config.options),
                                  folder_.file(submission, "%a.log").string(),
                                  order_.jobs,
                                  std::max(1, order_.config.cores)));
  const std::string answer = RunEngineCommand({"sbatch", "--parsable", script.string()});
  jobs_.push_back({answer.substr(0, answer.find_first_of(";\n")), submission, std::move(tasks)});
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
  // The longer an answer takes, the more seldom it is asked for.
  next_question_ =
      Clock::now() + std::max<Clock::duration>(kQueuePause, 10 * (Clock::now() - asked_));
  std::map<std::string, SlurmTask> queue;
  for (const std::string& line : std::exchange(queue_lines_, {})) {
    const std::optional<SlurmTask> task = ParseSlurmTask(line);
    if (task) queue.emplace(TaskName(task->job, task->index), *task);
  }
  return answered ? TellEnded(queue) : std::vector<EndedRuns>();
}

// Starts squeue if it is time.
void SlurmLauncher::AskQueue() {
  if (queue_ || jobs_.empty() || Clock::now() < next_question_) return;
  asked_ = Clock::now();
  queue_ = std::make_unique<EngineCommand>(SqueueCommand());
}

// @param queue  tasks that wait or run, by name; completing ones among them
std::vector<EndedRuns> SlurmLauncher::TellEnded(const std::map<std::string, SlurmTask>& queue) {
  const std::vector<RunMark> marks = order_.board.Marks();
  std::vector<EndedRuns> ended;
  for (Job& job : jobs_) {
    for (size_t i = 0; i < job.tasks.size(); ++i) {
      Task& task = job.tasks[i];
      const int index = static_cast<int>(i);
      const std::string name = TaskName(job.id, index);
      const auto found = queue.find(name);
      if (task.runs.empty()) continue;
      if (found != queue.end()) {
        const SlurmTask& now = found->second;
        if (now.reason.find(kGivenUp) != std::string::npos || IsSilent(task, now.state, marks)) {
          CancelTask(name);  // once it has left the queue, its runs go to another
        }
      } else {
        ended.push_back({std::exchange(task.runs, {}), folder_.LogTail(job.submission, index)});
      }
    }
  }
  std::erase_if(jobs_, [](const Job& job) {
    return std::ranges::all_of(job.tasks, [](const Task& task) { return task.runs.empty(); });
  });
  return ended;
}

// Has it run, worked at none of its runs and ended none for too long?
// @param marks  [runs]
bool SlurmLauncher::IsSilent(Task& task,
                             const std::string& state,
                             const std::vector<RunMark>& marks) const {
  const auto has_ended = [&](int run) {
    return marks[run] == RunMark::kDone || marks[run] == RunMark::kFailed;
  };
  const std::ptrdiff_t num_ended = std::ranges::count_if(task.runs, has_ended);
  const bool works = state != "RUNNING" || std::exchange(task.num_ended, num_ended) != num_ended ||
                     std::ranges::any_of(task.runs, [&](int run) {
                       return !has_ended(run) && order_.board.IsClaimed(run);
                     });
  if (works || !task.silent) task.silent = works ? std::nullopt : std::optional(Clock::now());
  return task.silent && Clock::now() - *task.silent >
                            std::chrono::duration<double>(order_.config.patience_seconds);
}

void SlurmLauncher::Cancel() {
  for (const Job& job : jobs_) {
    try {
      RunEngineCommand({"scancel", "--state=PENDING", job.id});
    } catch (const RunError& error) {  // tasks that begin late find the request to stop
      PrintWarning(fmt::format("launcher slurm: {}", error.what()));
    }
  }
}

}  // namespace emplace
