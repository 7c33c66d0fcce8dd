#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/config_command.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "experiments/stop_request.h"
#include "experiments/sweep/process_pool.h"
#include "experiments/sweep/sweep_folder.h"
#include "experiments/sweep/sweep_results.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/parallel.h"
#include "framework/base/progress.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

constexpr size_t kListedFailedRuns = 20;

struct SweepOptions : ConfigOptions {
  bool dry_run = false;
};

/// The sweep under way.
struct Sweep {
  SweepPlan plan;
  SweepProblems problems;
  SweepFolder folder;
  Provenance provenance;
  std::vector<RunState> states;  ///< [runs]
};

std::string Title(const SweepPlan& plan, int run) {
  return fmt::format("#{} {}", run, plan.runs[run].description);
}

std::string LabelOfRun(const SweepPlan& plan, int run) {
  const SweepRun& entry = plan.runs[run];
  return SearchLabel(plan.configs[entry.config].agents[entry.agent], entry.seed);
}

SweepTask MakeTask(const Sweep& sweep, int run) {
  const int problem = sweep.problems.of_config[sweep.plan.runs[run].config];
  return {PlanOfRun(sweep.plan, sweep.plan.runs[run]),
          &sweep.problems.problems[problem],
          Title(sweep.plan, run),
          sweep.folder.run(run),
          sweep.provenance};
}

std::string ShortState(const RunState& state) {
  if (state.progress == RunProgress::kFailed) return "failed: " + state.error;
  const std::string best = !state.best            ? "nothing evaluated"
                           : state.best->feasible ? FormatTime(state.best->step_time)
                                                  : "OOM";
  if (state.progress == RunProgress::kDone) {
    return fmt::format("{} ({} evaluations, {:.1f} s)", best, state.evaluations, state.seconds);
  }
  return state.error.empty() ? "stopped" : "stopped: " + state.error;
}

int Count(const Sweep& sweep, RunProgress progress) {
  return static_cast<int>(
      std::count_if(sweep.states.begin(), sweep.states.end(), [&](const RunState& state) {
        return state.progress == progress;
      }));
}

// Runs that did not end well: those that failed, and those killed after a checkpoint.
std::vector<int> Failures(const Sweep& sweep) {
  std::vector<int> failures;
  for (int run = 0; run < std::ssize(sweep.states); ++run) {
    if (!sweep.states[run].error.empty()) failures.push_back(run);
  }
  return failures;
}

// The best feasible run of the problem, -1 without one.
int BestOfProblem(const Sweep& sweep, int problem) {
  int best = -1;
  for (int run = 0; run < std::ssize(sweep.states); ++run) {
    const RunState& state = sweep.states[run];
    if (sweep.problems.of_config[sweep.plan.runs[run].config] != problem || !state.best ||
        !state.best->feasible) {
      continue;
    }
    if (best < 0 || state.best->step_time < sweep.states[best].best->step_time) best = run;
  }
  return best;
}

std::string BestText(const Sweep& sweep, int best) {
  const RunPlan& config = sweep.plan.configs[sweep.plan.runs[best].config];
  return fmt::format(
      "{} by {} (#{}), {} on {}",  // what matters first: a narrow terminal cuts off the end
      FormatTime(sweep.states[best].best->step_time),
      LabelOfRun(sweep.plan, best),
      best,
      config.config.graph,
      config.config.cluster);
}

// Runs all that is left to do. A run is reported when its result is on disk.
void RunAll(Sweep& sweep, int jobs, bool quiet) {
  std::vector<int> left;
  for (int run = 0; run < std::ssize(sweep.states); ++run) {
    if (sweep.states[run].progress == RunProgress::kDone) continue;
    if (sweep.states[run].progress == RunProgress::kFailed) sweep.states[run] = {};  // once more
    sweep.states[run].error.clear();
    left.push_back(run);
  }
  const int at_a_time = std::max(1, std::min<int>(jobs, std::ssize(left)));
  Progress progress("runs", std::ssize(left), !quiet);
  int ended = 0, failed = 0;
  std::string best;
  PoolCallbacks callbacks;
  callbacks.ended = [&](const WorkerEnd& end) {
    const SweepTask task = MakeTask(sweep, end.task);
    RunState& state = sweep.states[end.task];
    state = ReadRunState(task.path, task.label());
    if (!end.ok && state.progress != RunProgress::kDone) {
      WriteFailure(task, end.error);
      state = ReadRunState(task.path, task.label());
    }
    if (state.progress == RunProgress::kDone) ++ended;
    if (!state.error.empty()) ++failed;
    const int problem = sweep.problems.of_config[sweep.plan.runs[end.task].config];
    if (const int run = BestOfProblem(sweep, problem); run >= 0) {
      best = "; best " + BestText(sweep, run);
    }
    progress.Line(fmt::format("{}: {}", task.title, ShortState(state)));
  };
  callbacks.tick = [&](const std::vector<int>& running) {
    progress.Update(ended + failed,
                    fmt::format("{} running{}{}",
                                running.size(),
                                failed > 0 ? fmt::format(", {} failed", failed) : "",
                                best));
  };
  RunInProcesses(
      left,
      jobs,
      [&](int run) {
        SweepTask task = MakeTask(sweep, run);
        task.plan.ShareCores(at_a_time);
        RunSweepTask(task, sweep.plan.config.checkpoint_seconds);
      },
      callbacks);
}

// The best of each problem, failures, where the results are.
std::string Summary(const Sweep& sweep) {
  std::string text;
  for (int problem = 0; problem < std::ssize(sweep.problems.problems); ++problem) {
    if (const int best = BestOfProblem(sweep, problem); best >= 0) {
      text += fmt::format("best     {}\n", BestText(sweep, best));
    }
  }
  const std::vector<int> failures = Failures(sweep);
  for (size_t i = 0; i < std::min(failures.size(), kListedFailedRuns); ++i) {
    text += fmt::format(
        "failed   {}: {}\n", Title(sweep.plan, failures[i]), sweep.states[failures[i]].error);
  }
  if (failures.size() > kListedFailedRuns) {
    text += fmt::format("failed   and {} more\n", failures.size() - kListedFailedRuns);
  }
  return text + fmt::format("runs     {} of {} done\nresults  {}\n",
                            Count(sweep, RunProgress::kDone),
                            sweep.states.size(),
                            sweep.folder.path().string());
}

void WarnOfOtherPrograms(const Sweep& sweep) {
  const std::string now = ProgramText(sweep.provenance);
  std::map<std::string, int> others;
  for (const RunState& state : sweep.states) {
    if (!state.program.empty() && state.program != now) ++others[state.program];
  }
  for (const auto& [program, count] : others) {
    PrintWarning(fmt::format("{}: {} of {} runs are by emplace {}, and this is {}",
                             sweep.folder.path().string(),
                             count,
                             sweep.states.size(),
                             program,
                             now));
  }
}

std::string Equal(const SweepPlan& plan) {
  return plan.num_equal > 0 ? fmt::format(" ({} equal to others left out)", plan.num_equal) : "";
}

int DryRun(const SweepPlan& plan) {
  for (int run = 0; run < std::ssize(plan.runs); ++run) Print(Title(plan, run) + "\n");
  Print(fmt::format("{} runs{}\n", plan.runs.size(), Equal(plan)));
  return 0;
}

fs::path OutputPath(const SweepPlan& plan, const SweepOptions& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  return fs::path("results") / plan.name;
}

// The exit code 0. @throws RunError if the user stopped the sweep, or runs failed
int ReportEnd(const Sweep& sweep) {
  const size_t failed = Failures(sweep).size();
  if (StopRequest::requested()) {
    throw RunError(fmt::format("stopped: {} of {} runs are done; --resume goes on from there",
                               Count(sweep, RunProgress::kDone),
                               sweep.states.size()));
  }
  if (failed > 0) {
    throw RunError(fmt::format(
        "{} of {} runs failed, see above; --resume tries them again", failed, sweep.states.size()));
  }
  return 0;
}

int RunSweep(const SweepOptions& options) {
  SweepPlan plan =
      ReadSweepPlan(ResolveSweep(options.config, "sweep"), options.settings, AllAgents());
  SweepProblems problems = LoadSweepProblems(plan);
  if (options.dry_run) return DryRun(plan);
  const SweepFolder folder(OutputPath(plan, options), static_cast<int>(plan.runs.size()));
  const FolderLock lock(folder);
  const bool resumed = OpenSweepFolder(folder, FreezeSweep(plan, problems, folder), options.resume);
  if (options.resume && !resumed) {
    PrintWarning(folder.path().string() + ": is not there yet; a new sweep begins");
  }
  if (!plan.table.empty()) WriteFileAtomically(folder.table(), plan.table);
  Sweep sweep{std::move(plan), std::move(problems), folder, CollectProvenance(), {}};
  for (int run = 0; run < std::ssize(sweep.plan.runs); ++run) {
    sweep.states.push_back(resumed ? ResumeRunState(folder.run(run), LabelOfRun(sweep.plan, run))
                                   : RunState{});
  }
  WarnOfOtherPrograms(sweep);
  Print(fmt::format(
      "sweep    {}: {} runs{}\n", sweep.plan.name, sweep.plan.runs.size(), Equal(sweep.plan)));
  if (resumed) {
    Print(fmt::format("resumed  {} runs go on, {} are done, {} begin\n",
                      Count(sweep, RunProgress::kStopped),
                      Count(sweep, RunProgress::kDone),
                      Count(sweep, RunProgress::kNew) + Count(sweep, RunProgress::kFailed)));
  }
  FlushOutput();
  StopRequest::CatchSignals();
  const int jobs = options.jobs >= 0 ? options.jobs : sweep.plan.config.jobs;
  RunAll(sweep, jobs > 0 ? jobs : NumCores(), options.quiet);
  Print(Summary(sweep));
  return ReportEnd(sweep);
}

}  // namespace

void AddSweepCommand(Command program) {
  auto options = std::make_shared<SweepOptions>();
  Command command = AddConfigCommand(
      program,
      {.name = "sweep",
       .sentence = "Many runs over graphs, clusters, agents, settings and seeds; survives kill -9",
       .kind = "a sweep config",
       .where = "a path, or a name of `emplace list sweeps`",
       .setting = "scale=small",
       .output = "folder of the results",
       .output_type = "DIR",
       .resume = "go on with what the folder holds: runs that are done are kept, stopped ones "
                 "continued, failed ones tried again",
       .jobs = "runs"},
      *options,
      [] { return DescribeFields<SweepConfig>(); },
      [options] { return RunSweep(*options); });
  command.AddFlag("--dry-run", options->dry_run, "print the runs, search nothing");
}

}  // namespace emplace
