#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/config_command.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "experiments/run/run_report.h"
#include "experiments/run/run_results.h"
#include "experiments/run/run_resume.h"
#include "experiments/stop_request.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/parallel.h"
#include "framework/base/progress.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct RunOptions : ConfigOptions {
  bool json = false, zero_shot = false;
};

// In the place of the config's agents and seeds.
const std::vector<std::string> kZeroShot = {
    "agents=[{name: graph_policy, label: zero_shot, batches: 4}]",
    "seeds=[0]"};

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

fs::path OutputPath(const RunPlan& plan, const RunOptions& options) {
  if (!options.output.empty()) return options.output;
  if (!plan.config.output.empty()) return plan.config.output;
  std::error_code error;
  fs::create_directories("results", error);
  if (error) throw RunError(fmt::format("results: cannot be created: {}", error.message()));
  return fs::path("results") / (plan.name + ".h5");
}

bool IsBetter(const SearchResult& a, const SearchResult& b) {
  return a.best && (!b.best || Better(a.best->outcome, b.best->outcome));
}

// Makes all searches, `jobs` at a time. Each is on disk as soon as it has ended.
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
    const auto found = run.earlier.find(SearchLabel(spec, task.seed));
    const SearchResult* earlier = found != run.earlier.end() ? &found->second : nullptr;
    const bool complete = earlier != nullptr && earlier->checkpoint.empty();
    SearchResult& result = run.results[i];
    result = complete ? *earlier
                      : RunSearch(run.problem.searched,
                                  run.searched,
                                  spec,
                                  task.seed,
                                  run.plan.budget,
                                  earlier,
                                  {},
                                  run.plan.config.gpu);
    const std::lock_guard lock(mutex);
    if (best == nullptr || IsBetter(result, *best)) best = &result;
    run.bounds.proven = LargerOf(run.bounds.proven, {result.bound, spec.entry->name});
    if (!complete) {
      try {
        WriteSearch(file, run.problem, spec, run.plan.config.steps_per_measurement, result);
        WriteBound(file, run.bounds.proven, FittingTime(*best));
        file.Commit();
      } catch (...) {
        unwritable = true;  // spares the searches that have not begun
        throw;
      }
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
        best->best ? fmt::format("best {} by {}", ShortOutcome(*best, cluster), best->label) : "");
  });
}

// Writes the best placement over all agents and seeds beside the results.
// @return what to tell about it
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
  const bool own_order = !run.problem.contracted && !best->best->issue_order.empty();
  WriteFileAtomically(path,
                      FormatPlacement(run.problem.Expand(best->best->placement),
                                      exact.graph(),
                                      exact.cluster(),
                                      own_order ? best->best->issue_order : run.exact.issue_order));
  return BestText(run, *best, path);
}

// The exit code 0. @throws RunError if the user stopped the run, or searches failed
int ReportEnd(const Run& run, const fs::path& output) {
  const auto count = [&](SearchStatus status) {
    return std::count_if(run.results.begin(), run.results.end(), [&](const SearchResult& result) {
      return result.status == status;
    });
  };
  if (StopRequest::requested()) {
    throw RunError(
        fmt::format("stopped: {} of {} searches were cut short; what they found is in {}, --resume "
                    "goes on from there",
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

// Reads what the results file holds, if the run is to go on from there. @return whether it does
bool Resume(Run& run, const fs::path& output, const RunOptions& options) {
  if (!options.resume) return false;
  if (std::error_code ignored; !fs::exists(output, ignored)) {
    PrintWarning(output.string() + ": is not there yet; a new run begins");
    return false;
  }
  run.earlier = ReadEarlierSearches(output, run.plan, run.problem, run.bounds.simple);
  run.bounds.proven = LargerOf(run.bounds.proven, ReadBound(ResultsReader(output)));
  return true;
}

int RunConfigured(const RunOptions& options) {
  Run run;
  std::vector<std::string> settings = options.settings;
  if (options.zero_shot) settings.insert(settings.begin(), kZeroShot.begin(), kZeroShot.end());
  run.plan = ReadRunPlan(ResolveMenu(RunMenu(), options.config, "run"), settings, AllAgents());
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
  run.tasks = ListTasks(run.plan);
  const int jobs = run.plan.config.jobs > 0 ? run.plan.config.jobs : NumCores();
  run.plan.ShareCores(std::min<int>(jobs, std::ssize(run.tasks)));
  run.searched = run.plan.SimulatorFor(*run.problem.searched);
  run.exact = run.problem.contracted ? run.plan.SimulatorFor(*run.problem.exact) : run.searched;
  RequireAgents(run);
  run.bounds = BoundProblem(run.problem);
  run.scale.single_gpu = SingleGpuTime(run.problem.searched, run.searched);

  const fs::path output = OutputPath(run.plan, options);
  const bool resumed = Resume(run, output, options);
  ResultsFile file(output, resumed ? ResultsMode::kExtend : ResultsMode::kCreate);
  if (resumed) {
    file.SetAttribute("/config", "resumed", CollectProvenance().date);
    for (const char* group : {"/verification", "/stress"}) {
      file.Remove(group);  // of placements that may no longer be the best
    }
  } else {
    WriteRunHeader(file, run.plan, run.problem, run.bounds, CollectProvenance());
  }
  StopRequest::CatchSignals();
  const std::string header = HeaderText(run);
  if (!options.json) {
    Print(header);
    FlushOutput();
  } else if (!options.quiet) {
    std::fputs(header.c_str(), stderr);
  }
  SearchAll(run, file, jobs, options.quiet);

  run.scale.bound = run.bounds.proven.value;
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
  return ReportEnd(run, output);
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
       .output = "results file (HDF5)",
       .output_type = "FILE.h5",
       .resume = "go on with what the results file holds: complete searches are kept, stopped ones "
                 "continued",
       .jobs = "searches"},
      *options,
      [] { return DescribeFields<RunConfig>(); },
      [options] { return RunConfigured(*options); });
  command.AddFlag("--json", options->json, "the table as JSON on stdout");
  command.AddFlag(
      "--zero-shot",
      options->zero_shot,
      "no search: what the trained policy of graph_policy says at once, in the place of "
      "the config's agents and seeds");
}

}  // namespace emplace
