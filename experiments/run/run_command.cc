#include <cstdio>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/config_command.h"
#include "experiments/existing_output.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "experiments/run/run_execution.h"
#include "experiments/stop_request.h"
#include "framework/base/error.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct RunOptions : ConfigOptions {
  bool json = false, zero_shot = false;
  double checkpoint = -1;  // [s]
};

// In the place of the config's agents and seeds.
const std::vector<std::string> kZeroShot = {
    "agents=[{name: graph_policy, label: zero_shot, batches: 4}]",
    "seeds=[0]"};

fs::path OutputPath(const RunPlan& plan, const RunOptions& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  std::error_code error;
  fs::create_directories("results", error);
  if (error) throw RunError(fmt::format("results: cannot be created: {}", error.message()));
  const std::string zero_shot = options.zero_shot ? ".zero_shot" : "";
  return fs::path("results") / (plan.name + zero_shot + NamePart(options.settings) + ".h5");
}

// Over ranks a process may die at any time, and the launcher then kills the others.
constexpr double kRanksCheckpoint = 10;  // [s]

int RunConfigured(const RunOptions& options, RunRanks* ranks) {
  std::vector<std::string> settings = options.settings;
  if (options.zero_shot) settings.insert(settings.begin(), kZeroShot.begin(), kZeroShot.end());
  RunPlan plan = ReadRunPlan(ResolveMenu(RunMenu(), options.config, "run"), settings, AllAgents());
  LoadedProblem problem = LoadProblem(plan, options.strict);
  Run run = PrepareRun(std::move(plan), std::move(problem), options.jobs, ranks);
  if (ranks != nullptr && !ranks->is_first()) {
    ExecuteRun(run, {});
    return 0;
  }
  const double checkpoint = options.checkpoint >= 0 ? options.checkpoint
                            : ranks != nullptr      ? kRanksCheckpoint
                                                    : 0;
  const fs::path output = OutputPath(run.plan, options);
  const auto begins = [&] {
    StopRequest::CatchSignals();
    const std::string header = HeaderText(run);
    if (!options.json) {
      Print(header);
      FlushOutput();
    } else if (!options.quiet) {
      std::fputs(header.c_str(), stderr);
    }
  };
  const auto ends = [&] {
    const std::vector<TableRow> rows = MakeRows(run);
    Print(options.json ? TableAsJson(run, rows)
                       : "\n" + FormatTable(rows, run.scale, run.problem.exact->cluster()) + "\n" +
                             FormatHardwareTime(rows, run.plan.config.steps_per_measurement));
    const std::string closing =
        WriteBestPlacement(run, rows, output) + fmt::format("results  {}\n", output.string());
    if (!options.json) {
      Print(closing);
    } else if (!options.quiet) {
      std::fputs(closing.c_str(), stderr);
    }
  };
  ExecuteRun(run,
             {.output = output,
              .resume = options.resume,
              .force = options.force,
              .quiet = options.quiet,
              .checkpoint_seconds = checkpoint,
              .begins = begins,
              .ends = ends});
  RequireComplete(run, output);
  return 0;
}

}  // namespace

void AddRunCommand(Command program) {
  auto options = std::make_shared<RunOptions>();
  Command command = AddConfigCommand(
      program,
      {.name = "run",
       .sentence = "Search one problem with several agents; prints a table, writes HDF5",
       .kind = "a run config",
       .where = "a path, or a name in the configs folder",
       .setting = "budget.seconds=5",
       .output = "results file (HDF5); default: results/CONFIG.h5, with what --set changes in its "
                 "name",
       .output_type = "FILE.h5",
       .resume = "go on with what the results file holds: complete searches are kept, stopped ones "
                 "continued",
       .jobs = "searches",
       .force = "write over an earlier results file"},
      *options,
      [] { return DescribeFields<RunConfig>(); },
      [options] {
        return RunOverRanks([&](RunRanks* ranks) { return RunConfigured(*options, ranks); });
      });
  command
      .Add("--checkpoint",
           options->checkpoint,
           "seconds between checkpoints of a running search, for --resume after a process was "
           "killed; 0: none. Without the option: 10 under mpirun, else none")
      .NotNegative();
  command.AddFlag("--json", options->json, "the table as JSON on stdout");
  command.AddFlag(
      "--zero-shot",
      options->zero_shot,
      "no search: what the trained policy of graph_policy says at once, in the place of "
      "the config's agents and seeds");
}

}  // namespace emplace
