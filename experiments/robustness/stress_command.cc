#include <algorithm>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/robustness/stress_sweep.h"
#include "experiments/run/run_problem.h"
#include "experiments/run/run_reader.h"
#include "experiments/stress/stress_results.h"
#include "experiments/sweep/results_lock.h"
#include "framework/base/error.h"
#include "framework/base/progress.h"

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

// Returns the best placement of each agent, the best agents first. A placement that several agents
// found has all their labels.
std::vector<Candidate> BestOfAgents(const EarlierRun& run, const std::string& results, size_t top) {
  const ResultsReader reader(results);
  std::set<std::string> seen;
  std::vector<Candidate> best;
  for (const Candidate& candidate : run.found) {
    std::vector<std::string> labels;
    for (const std::string& label : SplitLabels(candidate.label)) {
      if (seen.insert(reader.Text("/agents/" + label, "label")).second) labels.push_back(label);
    }
    if (labels.empty()) continue;
    best.push_back(candidate);
    best.back().label = fmt::format("{}", fmt::join(labels, ", "));
  }
  best.resize(std::min(best.size(), top));
  return best;
}

// Shows the progress of one problem after another.
class StressProgress {
 public:
  explicit StressProgress(bool quiet) : quiet_(quiet) {}

  void Begin(const std::string& problem) {
    progress_.reset();
    problem_ = problem;
  }
  std::function<void(int, int)> callback() {
    return [this](int done, int total) {
      const std::lock_guard lock(mutex_);
      if (!progress_) progress_.emplace("simulating " + problem_, total, !quiet_);
      progress_->Update(done, "perturbed problems");
    };
  }

 private:
  bool quiet_;
  std::string problem_;
  std::optional<Progress> progress_;  // made when the amount of work is known
  std::mutex mutex_;
};

int StressFolder(const StressCommandOptions& options) {
  const RunFiles& files = options.files;
  if (!(files.graph + files.cluster + files.costs).empty() || options.top > 0 ||
      options.format != "md") {
    throw InputError(
        options.results +
        ": --graph, --cluster, --costs, --top and --format are for one results file, not for a "
        "sweep");
  }
  StopRequest::CatchSignals();
  StressOptions how = options.stress;
  how.stop = StopRequest::requested;
  std::vector<SweepStress> problems;
  {
    StressProgress progress(options.quiet);
    how.progress = progress.callback();
    problems =
        StressSweep(options.results, how, [&](const std::string& title) { progress.Begin(title); });
  }
  Print(SweepStressMarkdown(problems) +
        fmt::format("\nresults  {}; per method: python3 -m emplace.results robustness {}\n",
                    options.results,
                    options.results));
  return 0;
}

int StressRun(const StressCommandOptions& options) {
  static const std::vector<std::string> kFormats = {"md", "csv", "json"};
  if (std::count(kFormats.begin(), kFormats.end(), options.format) == 0) {
    ThrowUnknown("--format", "format", options.format, kFormats);
  }
  const double range = options.stress.adversary.range;
  if (!(range > 0 && range < 1)) {
    throw InputError(fmt::format("--range: expected a share above 0 and below 1, got {}", range));
  }
  if (std::filesystem::is_directory(options.results)) return StressFolder(options);
  ResultsReader{options.results};  // refuses other files
  const ResultsLock lock({options.results});
  const EarlierRun run = ReadRun(options.results, options.files);
  const auto problem = MakeExactProblem(run, options.results, run.objective);
  RequireSameFiles(options.results, *problem);
  const std::vector<Candidate> candidates =
      BestOfAgents(run, options.results, options.top > 0 ? options.top : kDefaultTop);

  StopRequest::CatchSignals();
  StressOptions how = options.stress;
  how.stop = StopRequest::requested;
  StressResult result;
  {
    StressProgress progress(options.quiet);
    progress.Begin(run.graph->name());
    how.progress = progress.callback();
    result = Stress(problem, HowSimulated(run, *problem), candidates, how);
  }
  ResultsFile file(options.results, ResultsMode::kExtend);
  WriteStress(file, result, how, CollectProvenance());
  file.Commit();
  if (options.format == "csv") {
    Print(StressCsv(result));
  } else if (options.format == "json") {
    Print(StressJson(result, how));
  } else {
    Print(StressMarkdown(result, how) + fmt::format("\nresults  {}\n", options.results));
  }
  return 0;
}

}  // namespace

void AddStressCommand(Command program) {
  auto options = std::make_shared<StressCommandOptions>();
  StressOptions& stress = options->stress;
  Command command = program.AddCommand(
      "stress",
      "Are a run's best placements still the best under noise, other semantics, slower links?");
  command
      .Add(
          "results",
          options->results,
          "results file of `emplace run`, or folder of a sweep: all its runs of a problem together")
      .Type("RESULT.h5|DIR")
      .Required();
  command
      .Add("--top",
           options->top,
           fmt::format("how many placements of a results file, one per agent, best first (default: "
                       "{}); of a sweep all are taken",
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
           "how far the adversary may change each cost and link to make the second placement win: "
           "0.1 is by 10 % up and down")
      .ShowDefault();
  command
      .Add("--steps",
           stress.adversary.steps,
           "problems that each of its chains simulates, about; 0: no adversary")
      .NotNegative()
      .ShowDefault();
  command.Add("--seed", stress.seed, "of the noise and the adversary").ShowDefault();
  command.Add("--jobs", stress.jobs, "simulated at a time; 0: one per core")
      .NotNegative()
      .ShowDefault();
  command.Add("--format", options->format, "md, csv or json").ShowDefault();
  command.Add("--graph", options->files.graph, "the run's graph, if its file has moved");
  command.Add("--cluster", options->files.cluster, "the run's cluster, if its file has moved");
  command.Add("--costs", options->files.costs, "the run's cost file, if it has moved");
  command.AddFlag("--quiet", options->quiet, "no progress on stderr");
  command.Footer(
      "Regret: how much longer a step takes with a placement than with the best of them in the "
      "same "
      "draw.\nEvery op is simulated, also if the run contracted its groups. What comes out is kept "
      "in "
      "the results\nfile: `emplace report` draws it, `emplace table --layout robustness` shows "
      "it, also of a sweep, where regret is over the best of all its runs of a problem.");
  command.Does([options] { return StressRun(*options); });
}

}  // namespace emplace
