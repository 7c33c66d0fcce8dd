#include "experiments/run/run_execution.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agents/registry.h"
#include "agents/shared/policy_file.h"
#include "experiments/console/existing_output.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/problem/planned_step.h"
#include "experiments/problem/proof_in_time.h"
#include "experiments/run/run_reader.h"
#include "experiments/run/run_results.h"
#include "experiments/run/run_resume.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/file_lock.h"
#include "framework/base/parallel.h"
#include "framework/base/progress.h"
#include "framework/ranks/mpi_module.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

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

// Lets the agents validate their settings, all of them before the first search.
void RequireAgents(const Run& run) {
  for (const AgentSpec& spec : run.plan.agents) {
    spec.entry->make({run.problem.searched, run.plan.seeds[0]}, spec.settings);
  }
}

bool IsBetter(const SearchResult& a, const SearchResult& b) {
  return a.best && (!b.best || Better(a.best->outcome, b.best->outcome));
}

SearchResult SearchTaskOf(const Run& run, const SearchTask& task, const Observers& observers) {
  return MakeOrResume(run.plan,
                      run.plan.agents[task.agent],
                      task.seed,
                      run.problem,
                      run.searched,
                      run.earlier,
                      observers,
                      run.ranks != nullptr ? &run.ranks->replicated : nullptr);
}

// The part of ranks above 0 in a run.
void SearchAlong(Run& run) {
  ShareEarlier(*run.ranks, run.earlier);
  for (const SearchTask& task : run.tasks) SearchTaskOf(run, task, {});
}

// Makes all searches, `jobs` concurrently. Writes each to disk as soon as it ends.
void SearchAll(Run& run, ResultsFile& file, const RunChoices& choices) {
  const bool quiet = choices.quiet;
  const Cluster& cluster = run.problem.exact->cluster();
  const int count = static_cast<int>(run.tasks.size());
  run.results.resize(count);
  int done = static_cast<int>(std::ranges::count_if(
      run.earlier, [](const auto& search) { return search.second.checkpoint.empty(); }));
  Progress progress("searching", count, !quiet, done);
  std::mutex mutex;
  const SearchResult* best = nullptr;
  std::atomic<bool> unwritable = false;
  ParallelFor(count, run.jobs, [&](int i) {
    if (unwritable || (run.ranks != nullptr && run.ranks->replicated.broken())) return;
    const SearchTask& task = run.tasks[i];
    const AgentSpec& spec = run.plan.agents[task.agent];
    bool written = false;
    Observers observers{.watch = choices.watch};
    observers.every_seconds = choices.checkpoint_seconds > 0
                                  ? choices.checkpoint_seconds
                                  : std::numeric_limits<double>::infinity();
    observers.write = [&](const SearchResult& found) {
      const std::lock_guard lock(mutex);
      run.bounds.proven = LargerOf(run.bounds.proven, {found.bound, spec.entry->name});
      const bool is_best = best == nullptr || IsBetter(found, *best);
      try {
        WriteSearch(file, run.problem, spec, run.plan.config.steps_per_measurement, found);
        WriteBound(file, run.bounds.proven, FittingTime(is_best ? found : *best));
        file.Commit();
      } catch (...) {
        unwritable = true;  // skips the searches that have not begun
        throw;
      }
      written = true;
    };
    if (!choices.policies.empty()) {
      observers.save_policy = [&](const std::string& policy) {
        WriteFileAtomically(choices.policies / (SearchLabel(spec, task.seed) + ".policy"), policy);
      };
    }
    SearchResult& result = run.results[i];
    result = SearchTaskOf(run, task, observers);
    if (result.status == SearchStatus::kNotBegun) return;
    const std::lock_guard lock(mutex);
    if (best == nullptr || IsBetter(result, *best)) best = &result;
    if (!quiet) {
      progress.Line(fmt::format("#{} {}: {} ({}, {} evaluations, {:.1f} s)",
                                i,
                                result.label,
                                ShortOutcome(result, cluster),
                                ToString(result.status),
                                result.records.size(),
                                result.seconds));
    }
    if (written && ProgressOf(ToString(result.status)) == RunProgress::kDone) ++done;
    progress.Update(
        done,
        best->best ? fmt::format("best {} by {}", ShortOutcome(*best, cluster), best->label) : "");
  });
}

// Warns of learners whose budget was too small to learn from.
void WarnOfNothingLearned(const Run& run) {
  const RunConfig& config = run.plan.config;
  std::vector<std::string> limits;
  if (config.max_evaluations) {
    limits.push_back(fmt::format("evaluations: {}", *config.max_evaluations));
  }
  if (config.max_seconds) limits.push_back(fmt::format("seconds: {}", *config.max_seconds));
  if (config.max_steps) limits.push_back(fmt::format("steps: {}", *config.max_steps));
  for (int agent = 0; agent < std::ssize(run.plan.agents); ++agent) {
    int searches = 0, untrained = 0;
    for (std::size_t i = 0; i < run.tasks.size(); ++i) {
      if (run.tasks[i].agent != agent) continue;
      ++searches;
      untrained += LearnedNothing(run.results[i]) ? 1 : 0;
    }
    if (untrained == 0) continue;
    PrintWarning(
        fmt::format("{}: the budget ({}) ended before the second update in {} of {} searches, "
                    "which therefore learned almost nothing",
                    run.plan.agents[agent].label,
                    fmt::join(limits, ", "),
                    untrained,
                    searches));
  }
}

// Reads the earlier searches if the run is to resume. @return whether it resumes
bool Resume(Run& run, const RunChoices& choices) {
  if (!choices.resume) return false;
  const fs::path& output = choices.output;
  if (std::error_code ignored; !fs::exists(output, ignored)) {
    PrintWarning(output.string() + ": does not exist yet; a new run starts");
    return false;
  }
  run.earlier = ReadEarlierSearches(output, run.plan, run.problem);
  run.bounds.proven = LargerOf(run.bounds.proven, ReadBound(ResultsReader(output)));
  return true;
}

// Proves a better bound for a tenth of the time that the searches took, unless that is very short.
// A run without a limit in seconds gives the same results on every machine, so it has no such
// proof.
void ProveFurther(Run& run, ResultsFile& file, double seconds_of_searches, bool quiet) {
  constexpr double kShare = 0.1, kLeastSeconds = 0.5;
  const double seconds = kShare * seconds_of_searches;
  const SearchResult* best = nullptr;
  for (const SearchResult& found : run.results) {
    if (best == nullptr || IsBetter(found, *best)) best = &found;
  }
  const std::optional<Nanos> known = best == nullptr ? std::nullopt : FittingTime(*best);
  if (!run.plan.config.max_seconds || seconds < kLeastSeconds || !known || run.ranks != nullptr ||
      StopRequest::requested() || IsOptimal(run.bounds.proven, known)) {
    return;
  }
  Progress progress("proving a bound", 1, !quiet);
  const auto take = [&](const LowerBound& bound) {
    run.bounds.proven = LargerOf(run.bounds.proven, bound);
  };
  SimulatorOptions how = run.searched;
  how.threads = NumCores();
  try {
    const Certificate certificate = ProveInTime({.problem = run.problem.searched,
                                                 .how = std::move(how),
                                                 .best = known,
                                                 .proved = run.bounds.proven,
                                                 .seconds = seconds,
                                                 .interrupt = Interrupt(StopRequest::requested),
                                                 .improved = take});
    take(certificate.bound);
    if (certificate.found) PrintWarning(FormatFound(*certificate.found, known));
  } catch (const Interrupted&) {  // the bounds proved before count
  }
  progress.Update(1);
  WriteBound(file, run.bounds.proven, known);
  file.Commit();
}

}  // namespace

LoadedProblem ProblemLoader::Load(const RunPlan& plan) {
  auto& costs = costs_[plan.costs];
  auto& graph = graphs_[plan.graph];
  auto& cluster = clusters_[plan.cluster];
  if (costs == nullptr && !plan.costs.empty()) costs = LoadCosts(plan.costs);
  if (graph == nullptr) graph = LoadGraph(plan.graph, strict_);
  if (cluster == nullptr) cluster = LoadCluster(plan.cluster);
  if (strict_) CheckDeviceKinds(*graph, cluster.get(), plan.graph.string(), strict_);
  const std::string where =
      plan.graph.string() + (costs ? " with costs " + plan.costs.string() : "");
  RunInputs inputs =
      WithPlan({graph, cluster, plan.passes, {}}, plan.config.plan, where, costs.get());
  return MakeProblem(std::move(inputs.graph),
                     std::move(inputs.cluster),
                     inputs.passes,
                     plan.objective,
                     plan.config.simulate_groups,
                     where,
                     costs.get(),
                     plan.simulator.semantics);
}

LoadedProblem LoadProblem(const RunPlan& plan, bool strict) {
  return ProblemLoader(strict).Load(plan);
}

Run PrepareRun(RunPlan plan, LoadedProblem problem, int jobs, RunRanks* ranks) {
  if (ranks == nullptr && LaunchedRanks() > 1) {
    throw RunError(
        fmt::format("a launcher started {} processes, which would all do the same run; only "
                    "`emplace run` divides a run among processes",
                    LaunchedRanks()));
  }
  Run run;
  run.ranks = ranks;
  run.plan = std::move(plan);
  if (jobs >= 0) run.plan.config.jobs = jobs;
  run.problem = std::move(problem);
  run.tasks = ListTasks(run.plan);
  if (ranks != nullptr) {
    run.jobs = 1;  // by all ranks together
    run.plan.ShareCores(1, ranks->cores);
  } else {
    run.jobs = run.plan.config.jobs > 0 ? run.plan.config.jobs : NumCores();
    run.plan.ShareCores(std::min<int>(run.jobs, std::ssize(run.tasks)));
  }
  run.searched = run.plan.SimulatorFor(*run.problem.searched);
  run.exact =
      run.problem.simulate_groups ? run.plan.SimulatorFor(*run.problem.exact) : run.searched;
  RequireAgents(run);
  run.bounds = BoundProblem(run.problem);
  run.scale.best_single_device = BestSingleDevice(run.problem.searched, run.searched);
  return run;
}

void RequirePolicySource(const Run& run) {
  const auto learns = [&](const AgentEntry& entry, const ConfigNode& settings, bool at_all) {
    const auto agent = entry.make({run.problem.searched, run.plan.seeds[0]}, settings);
    const auto* source = dynamic_cast<const PolicySource*>(agent.get());
    return source != nullptr && (at_all || source->learns_policy());
  };
  for (const AgentSpec& spec : run.plan.agents) {
    if (learns(*spec.entry, spec.settings, false)) return;
  }
  std::vector<std::string> names;
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (entry.make_trainer && learns(entry, ConfigNode(), true)) names.push_back(entry.name);
  }
  throw InputError(
      fmt::format("--save-policy: no agent of the run learns a policy that can be saved; choices: "
                  "{} (some need "
                  "a setting for it: `emplace list agents NAME`)",
                  fmt::join(names, ", ")));
}

void ExecuteRun(Run& run, const RunChoices& choices) {
  if (run.ranks != nullptr && !run.ranks->is_first()) {
    SearchAlong(run);
    return;
  }
  const FileLock lock(choices.output, PrintWarning);
  const bool resumed = Resume(run, choices);
  if (!resumed && !choices.force) RequireUnused(choices.output, choices.instead);
  ResultsFile file(choices.output, resumed ? ResultsMode::kExtend : ResultsMode::kCreate);
  if (resumed) {
    file.SetAttribute("/config", "resumed", CollectProvenance().date);
    for (const char* group : {"/verification", "/stress"}) {
      file.Remove(group);  // computed for placements that may no longer be the best
    }
  } else {
    WriteRunHeader(file, run.plan, run.problem, run.bounds, CollectProvenance());
  }
  WriteBestSingleDevice(file, run.scale.best_single_device);
  file.SetAttribute("/config", "ranks", std::int64_t{run.ranks != nullptr ? run.ranks->size() : 1});
  if (choices.begins) choices.begins();
  if (run.ranks != nullptr) ShareEarlier(*run.ranks, run.earlier);
  const auto begin = std::chrono::steady_clock::now();
  SearchAll(run, file, choices);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  ProveFurther(run, file, passed.count(), choices.quiet);
  WarnOfNothingLearned(run);
  run.scale.bound = run.bounds.proven.value;
  if (choices.ends) choices.ends();
}

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
  const bool own_order = !run.problem.simulate_groups && !best->best->issue_order.empty();
  SimulatedAs simulated = DescribeSimulation(run.plan);
  simulated.step_time = best->best->outcome.step_time;
  WriteFileAtomically(path,
                      FormatPlacement(run.problem.Expand(best->best->placement),
                                      exact.graph(),
                                      exact.cluster(),
                                      own_order ? best->best->issue_order : run.exact.issue_order,
                                      simulated));
  return BestText(run, *best, path);
}

void RequireComplete(const Run& run, const fs::path& output) {
  const auto count = [&](SearchStatus status) {
    return std::count_if(run.results.begin(), run.results.end(), [&](const SearchResult& result) {
      return result.status == status;
    });
  };
  if (StopRequest::requested()) {
    const auto not_begun = count(SearchStatus::kNotBegun);
    throw RunError(
        fmt::format("stopped: {} of {} searches were interrupted{}; their results are in {}; "
                    "--resume continues from there",
                    count(SearchStatus::kStopped),
                    run.results.size(),
                    not_begun > 0 ? fmt::format(", {} did not start", not_begun) : "",
                    output.string()));
  }
  if (const auto failed = count(SearchStatus::kFailed); failed > 0) {
    throw RunError(
        fmt::format("{} of {} searches failed; see the table", failed, run.results.size()));
  }
}

}  // namespace emplace
