#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/run/run_problem.h"
#include "experiments/stress/stress_results.h"
#include "experiments/sweep/run_store.h"
#include "framework/base/error.h"
#include "framework/base/progress.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace {

constexpr int kDefaultTop = 10;

struct StressCommandOptions {
  std::string results, format = "md";
  RunFiles files;
  StressOptions stress;
  int top = 0;  // 0: kDefaultTop, or all of a sweep
  bool quiet = false;
};

struct StressedProblem {
  ProblemRuns runs;  // that took part
  StressResult result;
};

void RequireOptions(const StressCommandOptions& options, bool is_sweep) {
  static const std::vector<std::string> kFormats = {"md", "csv", "json"};
  if (std::count(kFormats.begin(), kFormats.end(), options.format) == 0) {
    ThrowUnknown("--format", "format", options.format, kFormats);
  }
  const double range = options.stress.adversary.range;
  if (!(range > 0 && range < 1)) {
    throw InputError(fmt::format("--range: expected a share above 0 and below 1, got {}", range));
  }
  const RunFiles& files = options.files;
  const bool has_files = !(files.graph + files.cluster + files.costs).empty();
  if (is_sweep && (has_files || options.top > 0 || options.format != "md")) {
    throw InputError(options.results +
                     ": --graph, --cluster, --costs, --top and --format apply to one results file, "
                     "not to a sweep");
  }
}

// Requires that a label belongs to one run in all files of a problem.
void RequireLabelsOnce(const ProblemRuns& problem) {
  std::map<std::string, const ResultRun*> of_group;
  for (const ResultRun* run : problem.runs) {
    const auto [other, is_new] = of_group.emplace(run->group, run);
    if (is_new) continue;
    throw InputError(
        fmt::format("{}: {} and {} are runs of the same agent, seed and problem that differ in "
                    "another key; name the results files one by one",
                    problem.title,
                    other->second->title,
                    run->title));
  }
}

// Returns the problems of a sweep with a placement that fits, each with its done runs.
std::vector<ProblemRuns> DoneProblems(const RunStore& store, const std::string& folder) {
  std::vector<ProblemRuns> problems = store.Problems();
  for (ProblemRuns& problem : problems) {
    std::erase_if(problem.runs,
                  [](const ResultRun* run) { return run->progress != RunProgress::kDone; });
    RequireLabelsOnce(problem);
  }
  std::erase_if(problems, [](const ProblemRuns& problem) {
    const ResultRun* best = problem.Best();
    const bool fits = best != nullptr && std::isfinite(best->best_ns);
    if (best != nullptr && !fits)
      PrintWarning(problem.title + ": is left out, because no placement fits");
    return !fits;
  });
  if (problems.empty()) {
    throw InputError(folder + ": no finished run found a placement that fits");
  }
  return problems;
}

// Returns the best placement of each agent, the best agents first. A placement that several agents
// found has all their labels.
std::vector<Candidate> BestOfAgents(const ProblemRuns& problem,
                                    const std::vector<Candidate>& found,
                                    size_t top) {
  std::map<std::string, std::string> agent_of;  // by the label of a search
  for (const ResultRun* run : problem.runs) agent_of[LabelOf(*run)] = run->agent;
  std::set<std::string> seen;
  std::vector<Candidate> best;
  for (const Candidate& candidate : found) {
    std::vector<std::string> labels;
    for (const std::string& label : SplitLabels(candidate.label)) {
      if (seen.insert(agent_of.at(label)).second) labels.push_back(label);
    }
    if (labels.empty()) continue;
    best.push_back(candidate);
    best.back().label = fmt::format("{}", fmt::join(labels, ", "));
  }
  best.resize(std::min(best.size(), top));
  return best;
}

// Simulates the placements of a problem and writes the result to its files.
StressResult StressProblem(const RunStore& store,
                           const ProblemRuns& problem,
                           const StressCommandOptions& options,
                           bool is_sweep) {
  const EarlierRun run = store.Read(problem, options.files);
  std::vector<Candidate> found = store.ReadFound(problem, run);
  const auto exact = MakeExactProblem(run, run.name, run.objective);
  RequireSameFiles(run.name, *exact);
  if (!is_sweep) {
    found = BestOfAgents(problem, found, options.top > 0 ? options.top : kDefaultTop);
  }
  StressOptions how = options.stress;
  how.stop = StopRequest::requested;
  std::optional<Progress> progress;  // made when the amount of work is known
  std::mutex mutex;
  how.progress = [&](int done, int total) {
    const std::lock_guard lock(mutex);
    if (!progress) progress.emplace("simulating " + problem.title, total, !options.quiet);
    progress->Update(done, "perturbed problems");
  };
  StressResult result = Stress(exact, HowSimulated(run, *exact), found, how);
  const Provenance provenance = CollectProvenance();
  store.Extend(problem, [&](ResultsFile& file) { WriteStress(file, result, provenance); });
  return result;
}

// Returns Markdown: a row per problem with the result of its winner under noise.
std::string SweepMarkdown(const std::vector<StressedProblem>& problems) {
  std::vector<std::vector<std::string>> lines = {
      {"problem", "placements", "Kendall's tau", "winner", "stays best", "its regret", "largest"}};
  for (const StressedProblem& problem : problems) {
    const StressScenario& noise = problem.result.scenarios.at(0);
    const std::vector<std::string> labels = SplitLabels(problem.result.labels[0]);
    lines.push_back({problem.runs.title,
                     std::to_string(problem.result.labels.size()),
                     std::isnan(noise.kendall_tau) ? "–" : fmt::format("{:.3f}", noise.kendall_tau),
                     labels.size() == 1
                         ? labels[0]
                         : fmt::format("{} and {} more", labels[0], labels.size() - 1),
                     fmt::format("{:.1f} %", 100 * noise.top_share),
                     RegretShare(noise.regret),
                     RegretShare(noise.worst_regret)});
  }
  return MarkdownLines(lines, 1);
}

int StressRuns(const StressCommandOptions& options) {
  const bool is_sweep = std::filesystem::is_directory(options.results);
  RequireOptions(options, is_sweep);
  const RunStore store({options.results});
  std::vector<StressedProblem> stressed;
  StopRequest::CatchSignals();
  for (ProblemRuns& problem : is_sweep ? DoneProblems(store, options.results) : store.Problems()) {
    StressResult result = StressProblem(store, problem, options, is_sweep);
    stressed.push_back({std::move(problem), std::move(result)});
  }
  const std::string results = fmt::format("\nresults  {}", options.results);
  if (is_sweep) {
    Print(SweepMarkdown(stressed) +
          fmt::format("{}; per method: python3 -m emplace.results robustness {}\n",
                      results,
                      options.results));
    return 0;
  }
  const StressResult& result = stressed.at(0).result;  // a file has one problem
  if (options.format == "csv") {
    Print(StressCsv(result));
  } else if (options.format == "json") {
    Print(StressJson(result));
  } else {
    Print(StressMarkdown(result) + results + "\n");
  }
  return 0;
}

}  // namespace

void AddStressCommand(Command program) {
  auto options = std::make_shared<StressCommandOptions>();
  StressOptions& stress = options->stress;
  Command command = program.AddCommand(
      "stress",
      "Test a run's best placements under noise, in other semantics and with slower links");
  command
      .Add("results",
           options->results,
           "results file of `emplace run`, or folder of a sweep, whose runs of a problem are "
           "compared together")
      .Type("RESULT.h5|DIR")
      .Required();
  command
      .Add("--top",
           options->top,
           fmt::format("number of placements of a results file, one per agent, best first "
                       "(default: {}); a sweep uses all",
                       kDefaultTop))
      .Positive();
  command.Add("--draws", stress.draws, "draws of noise").Positive().ShowDefault();
  command
      .Add("--noise",
           stress.noise,
           "log-normal noise of each op's cost and each link's speed; 0.1 is about 10 %")
      .NotNegative()
      .ShowDefault();
  command
      .Add("--range",
           stress.adversary.range,
           "largest change of each cost and link by an adversary that tries to make the second "
           "placement win; 0.1: 10 % up or down")
      .ShowDefault();
  command
      .Add("--steps",
           stress.adversary.steps,
           "approximate number of problems that each chain of the adversary simulates; 0: no "
           "adversary")
      .NotNegative()
      .ShowDefault();
  command.Add("--seed", stress.seed, "seed of the noise and the adversary").ShowDefault();
  command.Add("--jobs", stress.jobs, "simulations at a time; 0: one per core")
      .NotNegative()
      .ShowDefault();
  command.Add("--format", options->format, "md, csv or json").ShowDefault();
  command.Add("--graph", options->files.graph, "the run's graph, if its file has moved");
  command.Add("--cluster", options->files.cluster, "the run's cluster, if its file has moved");
  command.Add("--costs", options->files.costs, "the run's cost file, if it has moved");
  command.AddFlag("--quiet", options->quiet, "print no progress on stderr");
  command.Footer(
      "Regret: relative extra time of a step with a placement, over the best placement in the same "
      "draw.\nEvery op is simulated, even if the run contracted its groups. The results file keeps "
      "the figures:\n`emplace report` draws them, `emplace table --layout robustness` shows them. "
      "In a sweep, regret is\nover the best of all its runs of a problem.");
  command.Does([options] { return StressRuns(*options); });
}

}  // namespace emplace
