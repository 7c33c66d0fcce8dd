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

#include "experiments/certify/proof_in_time.h"
#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/run_problem.h"
#include "experiments/run/run_reader.h"
#include "experiments/sweep/results_lock.h"
#include "experiments/table/table_runs.h"
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

// One problem, whose runs may be in several files.
struct CertifiedProblem {
  std::vector<fs::path> files;        // with runs of the problem
  std::optional<fs::path> with_best;  // one of them that contains a placement
  std::optional<Nanos> best;          // objective of the best placement in the files that fits
  LowerBound before, after;
  std::string title;            // "inception_v3 on 4xk80"
  std::optional<Nanos> better;  // Certificate::better
  std::string ended;            // Certificate::ended
};

double SecondsSince(CertifyClock::time_point begin) {
  return std::chrono::duration<double>(CertifyClock::now() - begin).count();
}

std::vector<CertifiedProblem> ListProblems(const ResultRuns& results) {
  std::vector<CertifiedProblem> problems;
  for (const RunsOfProblem& runs : RunsByProblem(results)) {
    CertifiedProblem& problem = problems.emplace_back();
    problem.before = problem.after = runs[0]->bound;
    problem.title =
        fmt::format("{} on {}", *FindRunKey(*runs[0], "graph"), *FindRunKey(*runs[0], "cluster"));
    for (const ResultRun* run : runs) {
      if (!problem.files.empty() && problem.files.back() == run->file) continue;
      problem.files.push_back(run->file);
      const ResultsReader reader(run->file);
      for (const std::string& label : reader.Children("/agents")) {
        if (reader.Has("/agents/" + label + "/best")) problem.with_best = run->file;
      }
      if (const auto best = ReadBestFitting(reader)) {
        problem.best = std::min(problem.best.value_or(kMaxNanos), *best);
      }
    }
  }
  return problems;
}

// Refuses several problems if an option gives the place of one problem's file.
void RequireFilesOfOne(const CertifyOptions& options,
                       const std::vector<CertifiedProblem>& problems) {
  const RunFiles& files = options.files;
  if (problems.size() == 1 || (files.graph + files.cluster + files.costs).empty()) return;
  throw InputError(
      fmt::format("--graph, --cluster and --costs are about one problem, the results hold {}: {}, "
                  "{}{}; name results of one",
                  problems.size(),
                  problems[0].title,
                  problems[1].title,
                  problems.size() > 2 ? ", ..." : ""));
}

// Writes the bound to every file of the problem whose bound is smaller.
void WriteToFiles(const CertifiedProblem& problem) {
  for (const fs::path& path : problem.files) {
    LowerBound bound;
    std::optional<Nanos> best;
    {
      const ResultsReader reader(path);
      bound = LargerOf(ReadBound(reader), problem.after);
      best = ReadBestFitting(reader);
    }
    ResultsFile file(path, ResultsMode::kExtend);
    WriteBound(file, bound, best);
    file.Commit();
  }
}

void Certify(CertifiedProblem& problem, const CertifyOptions& options) {
  const std::string where = problem.with_best->string();
  const EarlierRun run = ReadRun(*problem.with_best, options.files);
  const LoadedProblem loaded = MakeRunProblem(run, where);  // as the run searched it
  RequireSameFiles(where, *loaded.exact, kPartsOfProblem);
  WriteToFiles(problem);  // fails now if a file cannot be written
  if (IsOptimal(problem.after, problem.best)) {
    problem.ended = "the best placement was proven optimal before, by " + problem.after.method;
    return;
  }
  Progress progress("certifying " + problem.title,
                    static_cast<std::int64_t>(std::ceil(options.seconds)),
                    !options.quiet);
  const auto begin = CertifyClock::now();
  auto written = begin;
  const auto take = [&](const LowerBound& bound) {
    problem.after = LargerOf(problem.after, bound);
    progress.Update(static_cast<std::int64_t>(SecondsSince(begin)),
                    fmt::format("bound {} by {}, gap {}",
                                FormatTime(problem.after.value),
                                problem.after.method,
                                GapText(problem.after, problem.best)));
    if (CertifyClock::now() - written < kBetweenWrites) return;
    WriteToFiles(problem);
    written = CertifyClock::now();
  };
  SimulatorOptions how = HowSearched(run, *loaded.searched);
  how.threads = NumCores();
  try {
    const Certificate certificate = ProveInTime({.problem = loaded.searched,
                                                 .how = std::move(how),
                                                 .best = problem.best,
                                                 .proved = problem.before,
                                                 .seconds = options.seconds,
                                                 .interrupt = Interrupt(StopRequest::requested),
                                                 .improved = take});
    take(certificate.bound);
    problem.better = certificate.better;
    problem.ended = certificate.ended;
  } catch (const Interrupted&) {  // the bounds proven before count
    problem.ended = "stopped";
  }
  WriteToFiles(problem);
}

// Returns a line per problem with the reason why its proof ended.
std::string FormatEnds(const std::vector<CertifiedProblem>& problems) {
  std::string text;
  for (const CertifiedProblem& problem : problems) {
    text +=
        fmt::format("{}: {}\n", problem.title, problem.ended.empty() ? "not begun" : problem.ended);
    if (!problem.better) continue;
    text += fmt::format(
        "{}: branch_and_bound found a placement of {}, better than the best in the files{}; a run "
        "of this agent keeps it\n",
        problem.title,
        FormatTime(*problem.better),
        problem.best ? fmt::format(" ({})", FormatTime(*problem.best)) : "");
  }
  return text;
}

std::string FormatProblems(const std::vector<CertifiedProblem>& problems) {
  std::vector<std::vector<std::string>> cells = {
      {"problem", "best", "bound was", "gap was", "bound", "gap", "by", "files"}};
  for (const CertifiedProblem& problem : problems) {
    cells.push_back({problem.title,
                     problem.best ? FormatTime(*problem.best) : "OOM",
                     FormatTime(problem.before.value),
                     GapText(problem.before, problem.best),
                     FormatTime(problem.after.value),
                     GapText(problem.after, problem.best),
                     problem.after.method,
                     std::to_string(problem.files.size())});
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
    Json files = Json::array();
    for (const fs::path& file : problem.files) files.push_back(file.string());
    list.push_back({{"problem", problem.title},
                    {"files", std::move(files)},
                    {"best_ns", problem.best ? Json(*problem.best) : Json(nullptr)},
                    {"before", bound(problem.before)},
                    {"after", bound(problem.after)},
                    {"found_ns", problem.better ? Json(*problem.better) : Json(nullptr)},
                    {"ended", problem.ended}});
  }
  return list.dump(2) + "\n";
}

int CertifyResults(const CertifyOptions& options) {
  const std::vector<fs::path> inputs(options.inputs.begin(), options.inputs.end());
  ReadResultRuns(inputs);  // refuses files that are not results
  const ResultsLock lock(inputs);
  std::vector<CertifiedProblem> problems = ListProblems(ReadResultRuns(inputs));
  const auto has_none = [&](const CertifiedProblem& problem) { return !problem.with_best; };
  if (std::all_of(problems.begin(), problems.end(), has_none)) {
    throw InputError(
        fmt::format("{}: no agent of this run found a placement", fmt::join(options.inputs, ", ")));
  }
  for (const CertifiedProblem& problem : problems) {
    if (has_none(problem)) PrintWarning(problem.title + ": no agent found a placement; left out");
  }
  std::erase_if(problems, has_none);
  RequireFilesOfOne(options, problems);

  StopRequest::CatchSignals();
  for (CertifiedProblem& problem : problems) {
    if (!StopRequest::requested()) Certify(problem, options);
  }
  Print(options.json ? FormatProblemsJson(problems)
                     : FormatProblems(problems) + "\n" + FormatEnds(problems));
  if (StopRequest::requested()) {
    throw RunError("stopped: what was proven until then is in the files; again goes on from there");
  }
  return 0;
}

}  // namespace

void AddCertifyCommand(Command program) {
  auto options = std::make_shared<CertifyOptions>();
  Command command = program.AddCommand(
      "certify",
      "Prove a better lower bound for a run: how far is the best placement from optimal?");
  command.Add("results", options->inputs, "folder of a sweep, or results files of runs")
      .Type("DIR|RESULT.h5...")
      .Required();
  command.Add("--seconds", options->seconds, "time for each problem [s]")
      .NotNegative()
      .ShowDefault();
  command.Add("--graph", options->files.graph, "the run's graph, if its file has moved");
  command.Add("--cluster", options->files.cluster, "the run's cluster, if its file has moved");
  command.Add("--costs", options->files.costs, "the run's cost file, if it has moved");
  command.AddFlag("--json", options->json, "everything as JSON on stdout");
  command.AddFlag("--quiet", options->quiet, "no progress on stderr");
  command.Footer(
      "Proves by bounds of segments and cuts and by branch and bound, which ends with the optimum\n"
      "of small problems, until the time is up, and says why it ended. The bound is written into\n"
      "the files, and is never made worse. Runs of one problem share it.\n"
      "ctrl-C keeps what was proven until then.");
  command.Does([options] { return CertifyResults(*options); });
}

}  // namespace emplace
