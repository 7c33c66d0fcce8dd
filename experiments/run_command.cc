#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "experiments/run_results.h"
#include "experiments/run_table.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/parallel.h"
#include "framework/base/progress.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct Options {
  std::string config, output;
  std::vector<std::string> settings;
  int jobs = -1;
  bool quiet = false, json = false;
};

struct SearchTask {
  int agent = 0;  // index into RunPlan::agents
  std::uint64_t seed = 0;
};

// Everything one run knows, from the plan to the results.
struct Run {
  RunPlan plan;
  LoadedProblem problem;
  Bounds bounds;
  TableScale scale;
  std::vector<SearchTask> tasks;
  std::vector<SearchResult> results;  // [tasks]
};

std::vector<SearchTask> ListTasks(const RunPlan& plan) {
  std::vector<SearchTask> tasks;
  for (int agent = 0; agent < static_cast<int>(plan.agents.size()); ++agent) {
    for (std::uint64_t seed : plan.seeds) {
      tasks.push_back({agent, seed});
      if (!plan.agents[agent].entry->uses_seed) break;
    }
  }
  return tasks;
}

// Settings are validated by the agents themselves: all of them before the first search.
void RequireAgents(const Run& run) {
  for (const AgentSpec& spec : run.plan.agents) {
    spec.entry->make({run.problem.searched, run.plan.seeds[0]}, spec.settings);
  }
}

// Step time on one GPU, what every speed-up refers to; none if the cluster has no GPU or it does
// not fit.
std::optional<Nanos> SingleGpuTime(const Run& run) {
  AgentSpec spec;
  spec.label = "single_gpu";
  spec.entry = &AllAgents().Find("single_gpu", "emplace");
  const SearchResult result =
      RunSearch(run.problem.searched, run.plan.simulator, spec, 0, Budget{});
  if (!result.best || !result.best->outcome.feasible) return std::nullopt;
  return result.best->outcome.step_time;
}

fs::path OutputPath(const RunPlan& plan, const Options& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  std::error_code error;
  fs::create_directories("results", error);
  if (error) throw RunError(fmt::format("results: cannot be created: {}", error.message()));
  return fs::path("results") / (plan.name + ".h5");
}

std::string HeaderText(const Run& run) {
  const Problem& exact = *run.problem.exact;
  std::string text = fmt::format(
      "graph    {}: {} ops, {} groups\n"
      "cluster  {}: {}\n"
      "model    {} semantics{}, {}{}\n"
      "bound    {} (critical path {}, work {})\n",
      exact.graph().name(),
      exact.num_ops(),
      exact.num_groups(),
      exact.cluster().name(),
      fmt::join(exact.cluster().DeviceNames(), ", "),
      ToString(run.plan.simulator.semantics),
      run.plan.simulator.count_gaps ? " counting trailing gaps" : "",
      run.plan.objective == Objective::kPeriod ? "period of pipelined steps" : "step time",
      run.problem.contracted ? ", groups contracted (an approximation)" : "",
      FormatTime(run.scale.bound),
      FormatTime(run.bounds.critical_path),
      FormatTime(run.bounds.work));
  text += run.scale.single_gpu ? fmt::format("one GPU  {}\n", FormatTime(*run.scale.single_gpu))
                               : std::string("one GPU  does not fit or is not there\n");
  return text;
}

std::string ShortOutcome(const SearchResult& result, const Cluster& cluster) {
  if (result.status == SearchStatus::kFailed) return "failed: " + result.error;
  if (!result.best) return "nothing evaluated";
  const Outcome& outcome = result.best->outcome;
  return outcome.feasible ? FormatTime(outcome.step_time) : FormatDeficit(outcome, cluster);
}

// All searches over the cores; each is written and made visible as soon as it is done.
void SearchAll(Run& run, ResultsFile& file, int jobs, bool quiet) {
  const Cluster& cluster = run.problem.exact->cluster();
  const int count = static_cast<int>(run.tasks.size());
  run.results.resize(count);
  Progress progress("searching", count, !quiet);
  std::mutex mutex;
  int done = 0;
  const SearchResult* best = nullptr;
  std::atomic<bool> unwritable = false;
  ParallelFor(count, jobs, [&](int i) {
    if (unwritable) return;
    const SearchTask& task = run.tasks[i];
    const AgentSpec& spec = run.plan.agents[task.agent];
    run.results[i] =
        RunSearch(run.problem.searched, run.plan.simulator, spec, task.seed, run.plan.budget);
    const SearchResult& result = run.results[i];
    const std::lock_guard lock(mutex);
    try {
      WriteSearch(file, run.problem, spec, result);
      file.Commit();
    } catch (...) {
      unwritable = true;  // spares the searches that have not begun
      throw;
    }
    if (result.best && (best == nullptr || Better(result.best->outcome, best->best->outcome))) {
      best = &result;
    }
    if (!quiet) {
      progress.Line(fmt::format("#{} {}: {} ({}, {} evaluations, {:.1f} s)",
                                i,
                                result.label,
                                ShortOutcome(result, cluster),
                                ToString(result.status),
                                result.records.size(),
                                result.seconds));
    }
    progress.Update(
        ++done,
        best ? fmt::format("best {} by {}", ShortOutcome(*best, cluster), best->label) : "");
  });
}

std::vector<TableRow> MakeRows(const Run& run) {
  std::vector<TableRow> rows;
  for (size_t agent = 0; agent < run.plan.agents.size(); ++agent) {
    std::vector<const SearchResult*> results;
    for (size_t i = 0; i < run.tasks.size(); ++i) {
      if (run.tasks[i].agent == static_cast<int>(agent)) results.push_back(&run.results[i]);
    }
    rows.push_back(SummarizeAgent(run.plan.agents[agent].label, results));
  }
  SortRows(rows);
  return rows;
}

// Where the best placement's time comes from, and what it is when simulated op by op.
std::string BestText(const Run& run, const TableRow& row, const fs::path& placement_path) {
  const Cluster& cluster = run.problem.exact->cluster();
  const MeteredEvaluator::Best& best = *row.best;
  std::string text = fmt::format("best     {} by {}; op costs from: {}\n",
                                 best.outcome.feasible ? FormatTime(best.outcome.step_time)
                                                       : FormatDeficit(best.outcome, cluster),
                                 row.label,
                                 FormatShares(SharesOf(run.problem, best.placement)));
  if (run.problem.contracted) {
    const Outcome exact =
        MakeSimulator(run.problem.exact, run.plan.simulator)->Evaluate(best.placement);
    text +=
        fmt::format("exact    the same placement simulated op by op: {}\n",
                    exact.feasible ? FormatTime(exact.step_time) : FormatDeficit(exact, cluster));
  }
  return text + fmt::format("placement {}\n", placement_path.string());
}

std::string TableAsJson(const Run& run, const std::vector<TableRow>& rows) {
  nlohmann::ordered_json json;
  json["graph"] = run.problem.exact->graph().name();
  json["cluster"] = run.problem.exact->cluster().name();
  json["semantics"] = ToString(run.plan.simulator.semantics);
  json["objective"] = run.plan.config.objective;
  json["contracted"] = run.problem.contracted;
  json["bound_ns"] = run.scale.bound;
  json["single_gpu_ns"] = nullptr;
  if (run.scale.single_gpu) json["single_gpu_ns"] = *run.scale.single_gpu;
  json["agents"] =
      nlohmann::ordered_json::parse(FormatTableJson(rows, run.scale, run.problem.exact->cluster()));
  return json.dump(2) + "\n";
}

// The best placement over all agents and seeds goes beside the results. @return what to tell about
// it
std::string WriteBestPlacement(const Run& run,
                               const std::vector<TableRow>& rows,
                               const fs::path& output) {
  const TableRow* best = nullptr;
  for (const TableRow& row : rows) {
    if (row.best && (best == nullptr || Better(row.best->outcome, best->best->outcome)))
      best = &row;
  }
  if (best == nullptr) return "";
  const Problem& exact = *run.problem.exact;
  const fs::path path = fs::path(output).replace_extension(".placement.json");
  WriteFileAtomically(
      path,
      FormatPlacement(run.problem.Expand(best->best->placement), exact.graph(), exact.cluster()));
  return BestText(run, *best, path);
}

// Exit code 0, or what went wrong.
int ReportEnd(const Run& run, const fs::path& output) {
  const auto count = [&](SearchStatus status) {
    return std::count_if(run.results.begin(), run.results.end(), [&](const SearchResult& result) {
      return result.status == status;
    });
  };
  if (StopRequest::requested()) {
    throw RunError(
        fmt::format("stopped: {} of {} searches were cut short; what they found is in {}",
                    count(SearchStatus::kStopped),
                    run.results.size(),
                    output.string()));
  }
  if (const auto failed = count(SearchStatus::kFailed); failed > 0) {
    throw RunError(
        fmt::format("{} of {} searches failed, see the table", failed, run.results.size()));
  }
  return 0;
}

int RunConfigured(const Options& options) {
  Run run;
  run.plan =
      ReadRunPlan(ResolveMenu(RunMenu(), options.config, "run"), options.settings, AllAgents());
  if (options.jobs >= 0) run.plan.config.jobs = options.jobs;
  const auto costs = run.plan.costs.empty() ? nullptr : LoadCosts(run.plan.costs);
  run.problem =
      MakeProblem(LoadGraph(run.plan.graph),
                  LoadCluster(run.plan.cluster),
                  run.plan.passes,
                  run.plan.objective,
                  run.plan.config.contracted,
                  run.plan.graph.string() + (costs ? " with costs " + run.plan.costs.string() : ""),
                  costs.get());
  RequireAgents(run);
  run.bounds = ComputeBounds(*run.problem.exact);
  run.scale = {SingleGpuTime(run), BoundFor(run.plan.objective, run.bounds)};
  run.tasks = ListTasks(run.plan);

  const fs::path output = OutputPath(run.plan, options);
  ResultsFile file(output);
  WriteRunHeader(file, run.plan, run.problem, run.bounds, CollectProvenance());
  StopRequest::CatchSignals();
  const std::string header = HeaderText(run);
  if (!options.json) {
    Print(header);
    FlushOutput();
  } else if (!options.quiet) {
    std::fputs(header.c_str(), stderr);
  }
  SearchAll(run, file, run.plan.config.jobs, options.quiet);

  const std::vector<TableRow> rows = MakeRows(run);
  Print(options.json ? TableAsJson(run, rows)
                     : "\n" + FormatTable(rows, run.scale, run.problem.exact->cluster()) + "\n");
  const std::string closing =
      WriteBestPlacement(run, rows, output) + fmt::format("results  {}\n", output.string());
  if (!options.json) {
    Print(closing);
  } else if (!options.quiet) {
    std::fputs(closing.c_str(), stderr);
  }
  return ReportEnd(run, output);
}

int PrintConfigHelp() {
  std::string text =
      "# Keys of a run config with their defaults. \"budget.seconds\" stands for the key seconds "
      "of the\n"
      "# map budget; --set KEY=VALUE replaces a key from the command line.\n";
  for (const FieldHelp& field : DescribeFields<RunConfig>()) {
    if (field.default_value.empty()) {  // a map, its keys follow
      text += fmt::format("\n# {}: {}\n", field.key, field.help);
      continue;
    }
    const bool is_list = field.default_value.starts_with("- ");
    text += fmt::format(
        "\n# {}\n{}:{}{}\n", field.help, field.key, is_list ? "\n  " : " ", field.default_value);
  }
  Print(text);
  return 0;
}

}  // namespace

void AddRunCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  auto help_config = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "run", "Search one problem with several agents; prints a table, writes HDF5");
  command->add_option(
      "config", options->config, "run config: a path, or a name in the configs folder");
  command
      ->add_option(
          "--set", options->settings, "replace a key of the config, as in budget.seconds=5")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->output, "results file (HDF5)")->type_name("FILE.h5");
  command->add_option("--jobs", options->jobs, "searches at a time; 0: one per core")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--quiet", options->quiet, "no progress on stderr");
  command->add_flag("--json", options->json, "the table as JSON on stdout");
  command->add_flag(
      "--help-config", *help_config, "print every key of a run config with its default");
  command->callback([=, &action] {
    if (*help_config) {
      action = PrintConfigHelp;
      return;
    }
    if (options->config.empty()) throw CLI::RequiredError("config");
    action = [options] { return RunConfigured(*options); };
  });
}

}  // namespace emplace
