#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/problem/proof_in_time.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_problem.h"
#include "experiments/sweep/run_store.h"
#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/base/parallel.h"
#include "framework/base/progress.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

using CertifyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kBetweenWrites(10);  // least time between writes during a proof

struct CertifyOptions {
  std::vector<std::string> inputs;
  double seconds = 60;
  RunFiles files;
  bool json = false, quiet = false;
};

struct CertifiedProblem {
  ProblemRuns runs;
  std::optional<Nanos> best;  // objective of the best placement in the files that fits
  LowerBound before;
  Certificate proof;
};

double SecondsSince(CertifyClock::time_point begin) {
  return std::chrono::duration<double>(CertifyClock::now() - begin).count();
}

// Returns the objective of the best placement that fits. @param file  its runs only; empty: all
std::optional<Nanos> BestIn(const ProblemRuns& problem, const fs::path& file = {}) {
  std::optional<Nanos> best;
  for (const ResultRun* run : problem.runs) {
    if (!run->best || !run->best->feasible || (!file.empty() && run->file != file)) continue;
    best = std::min(best.value_or(kMaxNanos), run->best->step_time);
  }
  return best;
}

// Returns the problems with a placement.
std::vector<CertifiedProblem> ListProblems(const RunStore& store) {
  std::vector<CertifiedProblem> problems;
  std::vector<std::string> without;
  for (ProblemRuns& runs : store.Problems()) {
    if (std::ranges::none_of(runs.runs,
                             [](const ResultRun* run) { return run->best.has_value(); })) {
      without.push_back(runs.title);
      continue;
    }
    const LowerBound bound = runs.runs[0]->bound;
    problems.push_back({.best = BestIn(runs),
                        .before = bound,
                        .proof = {.bound = bound, .found = {}, .ended = {}}});
    problems.back().runs = std::move(runs);
  }
  if (problems.empty()) return problems;
  for (const std::string& title : without) {
    PrintWarning(title + ": is left out, because no agent found a placement");
  }
  return problems;
}

// Refuses several problems if an option gives the place of one problem's file.
void RequireFilesOfOne(const CertifyOptions& options,
                       const std::vector<CertifiedProblem>& problems) {
  const RunFiles& files = options.files;
  if (problems.size() == 1 || (files.graph + files.cluster + files.costs).empty()) return;
  throw InputError(
      fmt::format("--graph, --cluster and --costs name the files of one problem, but the results "
                  "hold {}: {}, {}{}; name the results of one problem",
                  problems.size(),
                  problems[0].runs.title,
                  problems[1].runs.title,
                  problems.size() > 2 ? ", ..." : ""));
}

void Certify(CertifiedProblem& problem, const RunStore& store, const CertifyOptions& options) {
  const EarlierRun run = store.Read(problem.runs, options.files);
  const LoadedProblem loaded = MakeRunProblem(run, run.name);  // as the run searched it
  RequireSameFiles(run.name, *loaded.exact, kPartsOfProblem);
  const auto write = [&] {
    store.Extend(problem.runs, [&](ResultsFile& file) {
      WriteBound(file, problem.proof.bound, BestIn(problem.runs, file.path()));
    });
  };
  write();  // fails now if a file cannot be written
  if (IsOptimal(problem.proof.bound, problem.best)) {
    problem.proof.ended =
        "an earlier run proved the best placement optimal, by " + problem.proof.bound.method;
    return;
  }
  Progress progress("certifying " + problem.runs.title,
                    static_cast<std::int64_t>(std::ceil(options.seconds)),
                    !options.quiet);
  const auto begin = CertifyClock::now();
  auto written = begin;
  const auto take = [&](const LowerBound& bound) {
    problem.proof.bound = LargerOf(problem.proof.bound, bound);
    progress.Update(static_cast<std::int64_t>(SecondsSince(begin)),
                    fmt::format("bound {} by {}, gap {}",
                                FormatTime(problem.proof.bound.value),
                                problem.proof.bound.method,
                                GapText(problem.proof.bound, problem.best)));
    if (CertifyClock::now() - written < kBetweenWrites) return;
    write();
    written = CertifyClock::now();
  };
  SimulatorOptions how = HowSearched(run, *loaded.searched);
  how.threads = NumCores();
  try {
    Certificate proof = ProveInTime({.problem = loaded.searched,
                                     .how = std::move(how),
                                     .best = problem.best,
                                     .proved = problem.before,
                                     .seconds = options.seconds,
                                     .interrupt = Interrupt(StopRequest::requested),
                                     .improved = take});
    take(proof.bound);
    problem.proof.found = std::move(proof.found);
    problem.proof.ended = std::move(proof.ended);
  } catch (const Interrupted&) {  // the bounds proven before count
    problem.proof.ended = "stopped";
  }
  write();
}

// Returns a line per problem with the reason why its proof ended.
std::string FormatEnds(const std::vector<CertifiedProblem>& problems) {
  std::string text;
  for (const CertifiedProblem& problem : problems) {
    text += fmt::format("{}: {}\n",
                        problem.runs.title,
                        problem.proof.ended.empty() ? "not begun" : problem.proof.ended);
    if (!problem.proof.found) continue;
    text += fmt::format(
        "{}: {}\n", problem.runs.title, FormatFound(*problem.proof.found, problem.best));
  }
  return text;
}

std::string FormatProblems(const std::vector<CertifiedProblem>& problems) {
  std::vector<std::vector<std::string>> cells = {
      {"problem", "best", "bound was", "gap was", "bound", "gap", "by", "files"}};
  for (const CertifiedProblem& problem : problems) {
    cells.push_back({problem.runs.title,
                     problem.best ? FormatTime(*problem.best) : "OOM",
                     FormatTime(problem.before.value),
                     GapText(problem.before, problem.best),
                     FormatTime(problem.proof.bound.value),
                     GapText(problem.proof.bound, problem.best),
                     problem.proof.bound.method,
                     std::to_string(problem.runs.Files().size())});
  }
  return FormatColumns(cells);
}

std::string FormatProblemsJson(const std::vector<CertifiedProblem>& problems) {
  Json list = Json::array();
  for (const CertifiedProblem& problem : problems) {
    const auto bound = [&](const LowerBound& one) {
      const auto gap = GapTo(one, problem.best);
      return Json{{"bound_ns", one.value},
                  {"method", one.method},
                  {"gap", gap ? Json(*gap) : Json(nullptr)},
                  {"optimal", IsOptimal(one, problem.best)}};
    };
    const std::optional<FoundPlacement>& found = problem.proof.found;
    Json files = Json::array();
    for (const fs::path& file : problem.runs.Files()) files.push_back(file.string());
    list.push_back({{"problem", problem.runs.title},
                    {"files", std::move(files)},
                    {"best_ns", problem.best ? Json(*problem.best) : Json(nullptr)},
                    {"before", bound(problem.before)},
                    {"after", bound(problem.proof.bound)},
                    {"found_ns", found ? Json(found->objective) : Json(nullptr)},
                    {"found_by", found ? Json(found->agent) : Json(nullptr)},
                    {"ended", problem.proof.ended}});
  }
  return list.dump(2) + "\n";
}

int CertifyResults(const CertifyOptions& options) {
  const RunStore store({options.inputs.begin(), options.inputs.end()});
  std::vector<CertifiedProblem> problems = ListProblems(store);
  if (problems.empty()) {
    throw InputError(
        fmt::format("{}: no agent of this run found a placement", fmt::join(options.inputs, ", ")));
  }
  RequireFilesOfOne(options, problems);

  StopRequest::CatchSignals();
  for (CertifiedProblem& problem : problems) {
    if (!StopRequest::requested()) Certify(problem, store, options);
  }
  Print(options.json ? FormatProblemsJson(problems)
                     : FormatProblems(problems) + "\n" + FormatEnds(problems));
  if (StopRequest::requested()) {
    throw RunError(
        "stopped: the bounds proved so far are in the files; the same command resumes from them");
  }
  return 0;
}

}  // namespace

void AddCertifyCommand(Command program) {
  auto options = std::make_shared<CertifyOptions>();
  Command command = program.AddCommand(
      "certify",
      "Prove a better lower bound for a run, and with it the optimality gap of its best placement");
  command.Add("results", options->inputs, "folder of a sweep, or results files of runs")
      .Type("DIR|RESULT.h5...")
      .Required();
  command.Add("--seconds", options->seconds, "time for each problem [s]")
      .NotNegative()
      .ShowDefault();
  command.Add("--graph", options->files.graph, "the run's graph, if its file has moved");
  command.Add("--cluster", options->files.cluster, "the run's cluster, if its file has moved");
  command.Add("--costs", options->files.costs, "the run's cost file, if it has moved");
  command.AddFlag("--json", options->json, "print everything as JSON on stdout");
  command.AddFlag("--quiet", options->quiet, "print no progress on stderr");
  command.Footer(
      "Uses bounds of segments and cuts, and branch and bound, until the time is up. Branch and\n"
      "bound finds the optimum of small problems. The report gives the reason for the end.\n"
      "The bound is written into the files and never gets worse. Runs of one problem share it.\n"
      "ctrl-C keeps the bounds proved so far.");
  command.Does([options] { return CertifyResults(*options); });
}

}  // namespace emplace
