#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/console/config_command.h"
#include "experiments/console/existing_output.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/run/run_execution.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct RunOptions : ConfigOptions {
  bool json = false, zero_shot = false, wide = false;
  double checkpoint = -1;  // [s]
  std::string policies;    // folder; empty: none are saved
};

constexpr const char* kResultsFolder = "results";

// Settings that replace the config's agents and seeds.
const std::vector<std::string> kZeroShot = {
    "agents=[{name: graph_policy, label: zero_shot, batches: 4}]",
    "seeds=[0]"};

fs::path OutputPath(const RunPlan& plan, const RunOptions& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  const std::string zero_shot = options.zero_shot ? ".zero_shot" : "";
  return fs::path(kResultsFolder) / (plan.name + zero_shot + NamePart(options.settings) + ".h5");
}

constexpr int kLabelColumns = 9;  // width of "graph    " and similar labels

// Breaks the lines "graph    ..." at the width of the view.
std::string FitLabelled(const std::string& text, const TextView& view) {
  return WrapLines(text, view.columns, kLabelColumns);
}

std::string BudgetText(const RunConfig& config) {
  std::vector<std::string> limits;
  if (config.max_evaluations) {
    limits.push_back(fmt::format("{} evaluations", *config.max_evaluations));
  }
  if (config.max_seconds) limits.push_back(fmt::format("{} s", *config.max_seconds));
  if (config.max_steps) limits.push_back(fmt::format("{} steps", *config.max_steps));
  return fmt::format("{}", fmt::join(limits, " or "));
}

// Returns the output of --dry-run.
std::string DryRunText(const Run& run, const fs::path& output) {
  std::string text = HeaderText(run) + "\n";
  for (int i = 0; i < std::ssize(run.tasks); ++i) {
    const SearchTask& task = run.tasks[i];
    text += fmt::format("#{} {}\n", i, SearchLabel(run.plan.agents[task.agent], task.seed));
  }
  return text + fmt::format("\nsearches {}, {} at a time, each with a budget of {}\nresults  {}\n",
                            run.tasks.size(),
                            std::min<int>(run.jobs, std::ssize(run.tasks)),
                            BudgetText(run.plan.config),
                            output.string());
}

// Interval of checkpoints with ranks: a process may die at any time, and the launcher then kills
// the others.
constexpr double kRanksCheckpoint = 10;  // [s]

int RunConfigured(const RunOptions& options, RunRanks* ranks) {
  std::vector<std::string> settings = options.settings;
  if (options.zero_shot) settings.insert(settings.begin(), kZeroShot.begin(), kZeroShot.end());
  RunPlan plan = ReadRunPlan(ResolveRun(options.config, "run"), settings, AllAgents());
  const bool is_first = ranks == nullptr || ranks->is_first();
  if (options.print_config) {
    if (options.jobs >= 0) plan.config.jobs = options.jobs;
    if (!options.output.empty()) plan.config.output = options.output;
    if (is_first) Print(plan.FullYaml());
    return 0;
  }
  LoadedProblem problem = LoadProblem(plan, options.strict);
  Run run = PrepareRun(std::move(plan), std::move(problem), options.jobs, ranks);
  if (!options.policies.empty()) RequirePolicySource(run);
  const TextView view = ViewOfOutput();
  if (options.dry_run) {
    if (is_first) Print(FitLabelled(DryRunText(run, OutputPath(run.plan, options)), view));
    return 0;
  }
  if (!is_first) {
    ExecuteRun(run, {});
    return 0;
  }
  if (!options.policies.empty()) CreateFolder(options.policies);
  const double checkpoint = options.checkpoint >= 0 ? options.checkpoint
                            : ranks != nullptr      ? kRanksCheckpoint
                                                    : 0;
  const fs::path output = OutputPath(run.plan, options);
  if (output.parent_path() == kResultsFolder) CreateFolder(kResultsFolder);
  const auto begins = [&] {
    StopRequest::CatchSignals();
    const std::string header = FitLabelled(HeaderText(run), view);
    if (!options.json) {
      Print(header);
      FlushOutput();
    } else if (!options.quiet) {
      std::fputs(header.c_str(), stderr);
    }
  };
  const auto ends = [&] {
    const std::vector<TableRow> rows = MakeRows(run);
    const TextView table_view{.columns = options.wide ? 0 : view.columns, .styled = view.styled};
    Print(options.json
              ? TableAsJson(run, rows)
              : "\n" + FormatTable(rows, run.scale, run.problem.exact->cluster(), table_view) +
                    "\n");
    std::string closing =
        FormatLearners(rows) + FormatTotals(rows, run.plan.config.steps_per_measurement) +
        WriteBestPlacement(run, rows, output) + fmt::format("results  {}\n", output.string());
    if (!options.policies.empty()) closing += fmt::format("policies {}\n", options.policies);
    closing = FitLabelled(closing, view);
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
              .policies = options.policies,
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
       .where = "a path, a name in the configs folder, or one of `emplace list problems`",
       .setting = "budget.seconds=5",
       .output =
           "results file (HDF5); default: results/CONFIG.h5, with the changes of --set in its name",
       .output_type = "FILE.h5",
       .resume = "resume from the results file: keep complete searches, continue stopped ones",
       .jobs = "searches",
       .dry_run = "check graph, cluster, costs and agents' settings and print the searches, "
                  "without searching or writing",
       .force = "overwrite an earlier results file"},
      *options,
      [] { return DescribeFields<RunConfig>(); },
      [options] {
        return RunOverRanks([&](RunRanks* ranks) { return RunConfigured(*options, ranks); });
      });
  command
      .Add("--checkpoint",
           options->checkpoint,
           "seconds between checkpoints of a running search, for --resume after a process was "
           "killed; 0: no checkpoints; default: 10 under mpirun, else 0")
      .NotNegative();
  command.AddFlag("--json", options->json, "print the table as JSON on stdout");
  command.AddFlag("--wide",
                  options->wide,
                  "print all columns of the table, whatever the width of stdout: also the range "
                  "over seeds, peak memory and the time on hardware");
  command
      .Add("--save-policy",
           options->policies,
           "folder for the learned policies of placeto, seq2seq, and graph_policy with `learn: "
           "true`, written when their searches end as LABEL.seedN.policy, with their settings. The "
           "agent's setting `policy` starts from such a file. No file is written for a search that "
           "--resume finds complete")
      .Type("DIR");
  command.AddFlag("--zero-shot",
                  options->zero_shot,
                  "replace the config's agents and seeds by the trained policy of graph_policy "
                  "without learning, with 4 batches of placements");
}

}  // namespace emplace
