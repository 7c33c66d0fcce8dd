#include "experiments/sweep/launchers/slurm_launcher.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "experiments/output.h"
#include "experiments/sweep/frozen_sweep.h"
#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxArray = 1000;  // Slurm's default MaxArraySize, less one
// Slurm's reason of a task that it could not start, as on a node that fell ill: it would wait for
// an administrator for ever.
constexpr const char* kGivenUp = "launch failed requeued held";
constexpr auto kQueuePause = std::chrono::seconds(1);

}  // namespace

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
  text += "runs=(\n";
  for (const std::string& bundle : bundles) text += "  " + bundle + "\n";
  text += ")\nexec";
  for (const std::string& word : worker) text += " " + ShellQuote(word);
  return text + " --runs \"${runs[SLURM_ARRAY_TASK_ID]}\"\n";
}

SlurmLauncher::SlurmLauncher(const LaunchOrder& order)
    : order_(order), folder_(order.sweep.folder) {
  RunEngineCommand({"squeue", "--noheader", "--me"});
}

std::string SlurmLauncher::description() const {
  return fmt::format("job arrays of Slurm, {} tasks at a time", order_.jobs);
}

void SlurmLauncher::Submit(const std::vector<int>& runs) {
  const std::vector<std::vector<int>> all = MakeBundles(runs, order_.config.bundle, order_.jobs);
  for (size_t begin = 0; begin < all.size(); begin += kMaxArray) {
    const size_t end = std::min(all.size(), begin + kMaxArray);
    Job job{"", folder_.NextSubmission(), {all.begin() + begin, all.begin() + end}};
    std::vector<std::string> bundles;
    for (const std::vector<int>& bundle : job.bundles) bundles.push_back(RunsText(bundle));
    const std::filesystem::path script = folder_.file(job.submission, "slurm.sh");
    WriteFileAtomically(script,
                        SlurmScript(WorkerCommand(order_),
                                    bundles,
                                    SplitOptions(order_.config.options),
                                    folder_.file(job.submission, "%a.log").string(),
                                    order_.jobs,
                                    std::max(1, order_.config.cores)));
    const std::string answer = RunEngineCommand({"sbatch", "--parsable", script.string()});
    job.id = answer.substr(0, answer.find_first_of(";\n"));
    jobs_.push_back(std::move(job));
  }
  next_question_ = Clock::now() + kQueuePause;
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
  std::set<std::string> alive;
  for (const std::string& line : std::exchange(queue_lines_, {})) {
    const size_t blank = line.find(' ');
    const std::string task = line.substr(0, blank);
    if (blank != std::string::npos && line.find(kGivenUp, blank) != std::string::npos) {
      RunEngineCommand({"scancel", task});  // its runs go to another task
    } else {
      alive.insert(task);
    }
  }
  return answered ? TellEnded(alive) : std::vector<EndedRuns>();
}

// Starts squeue if it is time.
void SlurmLauncher::AskQueue() {
  if (queue_ || jobs_.empty() || Clock::now() < next_question_) return;
  asked_ = Clock::now();
  // All jobs of the user: to ask for a number that Slurm has forgotten is an error.
  queue_ = std::make_unique<EngineCommand>(
      std::vector<std::string>{"squeue", "--noheader", "--me", "--array", "--format=%F_%K %r"});
}

// @param alive  tasks that wait or run, "17_0"; completing ones among them
std::vector<EndedRuns> SlurmLauncher::TellEnded(const std::set<std::string>& alive) {
  std::vector<EndedRuns> ended;
  for (Job& job : jobs_) {
    for (size_t i = 0; i < job.bundles.size(); ++i) {
      if (job.bundles[i].empty() || alive.contains(fmt::format("{}_{}", job.id, i))) continue;
      ended.push_back({std::exchange(job.bundles[i], {}),
                       folder_.LogTail(job.submission, static_cast<int>(i))});
    }
  }
  std::erase_if(jobs_, [](const Job& job) {
    return std::all_of(
        job.bundles.begin(), job.bundles.end(), [](const auto& runs) { return runs.empty(); });
  });
  return ended;
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
