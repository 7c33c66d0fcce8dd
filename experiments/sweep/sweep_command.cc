#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/console/config_command.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/sweep/launcher.h"
#include "experiments/sweep/launchers/mpi_launcher.h"
#include "experiments/sweep/run_all.h"
#include "experiments/sweep/sweep_report.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/parallel.h"
#include "framework/base/path_part.h"
#include "framework/ranks/launched_rank.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct SweepOptions : ConfigOptions {
  std::string launcher;  // empty: as in the config
};

void WarnOfOtherPrograms(const Sweep& sweep, const std::vector<ResultRun>& states) {
  const std::string now = ProgramText(sweep.provenance);
  std::map<std::string, int> others;
  for (const ResultRun& state : states) {
    if (!state.program.empty() && state.program != now) ++others[state.program];
  }
  for (const auto& [program, count] : others) {
    PrintWarning(fmt::format("{}: {} of {} runs were made by emplace {}; this is {}",
                             sweep.folder.path().string(),
                             count,
                             states.size(),
                             program,
                             now));
  }
}

std::string Equal(const SweepPlan& plan) {
  return plan.num_equal > 0 ? fmt::format(" ({} equal to others left out)", plan.num_equal) : "";
}

int DryRun(const SweepPlan& plan) {
  for (int run = 0; run < std::ssize(plan.runs); ++run) Print(RunTitle(plan, run) + "\n");
  Print(fmt::format("{} runs{}\n", plan.runs.size(), Equal(plan)));
  return 0;
}

fs::path OutputPath(const SweepPlan& plan, const SweepOptions& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  if (!IsPathPart(plan.name)) {  // "...yaml" is called ".."
    throw InputError(
        fmt::format("\"{}\" cannot be the name of a folder; name one with -o", plan.name));
  }
  return fs::path("results") / plan.name;
}

// Returns exit code 0. @throws RunError if the user stopped the sweep, or if runs failed
int ReportEnd(const std::vector<ResultRun>& states) {
  const size_t failed = FailedRuns(states).size();
  if (StopRequest::requested()) {
    throw RunError(fmt::format("stopped: {} of {} runs are done; --resume continues from there",
                               CountRuns(states, RunProgress::kDone),
                               states.size()));
  }
  if (failed > 0) {
    throw RunError(fmt::format(
        "{} of {} runs failed; see above; --resume tries them again", failed, states.size()));
  }
  return 0;
}

// Runs in the sweep's own process, which holds the folder's lock.
int Supervise(const SweepOptions& options, const fs::path& beside, Sweep& sweep) {
  const SweepPlan& plan = sweep.plan;
  const FolderLock lock(sweep.folder);
  const bool resumed = OpenSweepFolder(
      sweep.folder, FreezeSweep(plan, sweep.problems, sweep.folder), options.resume);
  if (options.resume && !resumed) {
    PrintWarning(sweep.folder.path().string() + ": does not exist yet; a new sweep starts");
  }
  if (!plan.table.empty()) WriteFileAtomically(sweep.folder.table(), plan.table);
  std::vector<ResultRun> states;
  for (int run = 0; run < std::ssize(plan.runs); ++run) {
    states.push_back(resumed ? ResumeRunState(sweep.folder.run(run), LabelOfRun(plan, run))
                             : ResultRun{});
  }
  WarnOfOtherPrograms(sweep, states);
  const int num_done = CountRuns(states, RunProgress::kDone);
  Print(fmt::format("sweep    {}: {} runs{}\n", plan.name, plan.runs.size(), Equal(plan)));
  if (resumed) {
    Print(fmt::format(
        "resumed  {} runs continue, {} are done, {} start\n",
        CountRuns(states, RunProgress::kStopped),
        num_done,
        CountRuns(states, RunProgress::kNew) + CountRuns(states, RunProgress::kFailed)));
  }
  FlushOutput();
  StopRequest::CatchSignals();
  RunBoard board(sweep.folder.board(), sweep.folder.num_runs());
  const int left = static_cast<int>(std::ssize(states)) - num_done;
  const LaunchOrder order{
      .sweep = sweep,
      .board = board,
      .config = plan.config.launcher,
      .jobs = std::max(1, std::min(options.jobs > 0 ? options.jobs : NumCores(), left)),
      .beside = beside,
      .checkpoint_seconds = plan.config.checkpoint_seconds};
  const std::unique_ptr<Launcher> launcher = MakeLauncher(order);
  if (order.config.name != "local") {
    Print(fmt::format("launcher {}: {}\n", order.config.name, launcher->description()));
    FlushOutput();
  }
  RunAll(sweep, states, board, *launcher, lock.owner(), options.quiet);
  Print(SweepSummary(sweep, states));
  return ReportEnd(states);
}

int RunSweep(SweepOptions options) {
  const fs::path config = ResolveSweep(options.config, "sweep");
  SweepPlan plan = ReadSweepPlan(config, options.settings, AllAgents());
  if (!options.launcher.empty()) plan.config.launcher.name = options.launcher;
  if (options.jobs < 0) options.jobs = plan.config.jobs;
  RequireLauncher(plan.config.launcher.name);
  if (options.print_config) {
    plan.config.jobs = options.jobs;
    if (!options.output.empty()) plan.config.output = options.output;
    Print(WriteFields(plan.config, /*whole=*/true));
    return 0;
  }
  SweepProblems problems = LoadSweepProblems(plan, options.strict);
  CheckAgents(plan, problems);
  if (options.dry_run) return DryRun(plan);
  const SweepFolder folder(OutputPath(plan, options), static_cast<int>(plan.runs.size()));
  Sweep sweep{std::move(plan), std::move(problems), folder, CollectProvenance()};
  const std::optional<LaunchedRank> rank = FindLaunchedRank();
  if (sweep.plan.config.launcher.name != "mpi" || !rank || rank->rank == 0) {
    return Supervise(options, config.parent_path(), sweep);
  }
  StopRequest::CatchSignals();
  WorkAsRank(sweep,
             *rank,
             FreezeSweep(sweep.plan, sweep.problems, sweep.folder),
             {.jobs = 1,
              .cores = std::max(1, sweep.plan.config.launcher.cores),
              .checkpoint_seconds = sweep.plan.config.checkpoint_seconds});
  return 0;
}

}  // namespace

void AddSweepCommand(Command program) {
  auto options = std::make_shared<SweepOptions>();
  Command command = AddConfigCommand(
      program,
      {.name = "sweep",
       .sentence =
           "Do many runs over graphs, clusters, agents, settings and seeds; survives kill -9",
       .kind = "a sweep config",
       .where = "a path, or a name of `emplace list sweeps`",
       .setting = "scale=small",
       .output = "folder of the results",
       .output_type = "DIR",
       .resume = "resume from the folder: keep finished runs, continue stopped ones, try failed "
                 "ones again",
       .jobs = "runs",
       .dry_run = "check everything and print the runs, without searching or writing"},
      *options,
      [] { return DescribeFields<SweepConfig>(); },
      [options] { return RunSweep(*options); });
  command
      .Add("--launcher",
           options->launcher,
           fmt::format("launcher of the runs: {}; --jobs is the number of its workers, except for "
                       "mpi, whose workers are the ranks",
                       fmt::join(LauncherNames(), ", ")))
      .Type("NAME");
}

}  // namespace emplace
