#include "experiments/report/report_runs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "experiments/table/run_keys.h"

namespace emplace {
namespace {

constexpr size_t kMaxSteps = 2000;  // points of a drawn curve: twice the pixels of a screen

// Returns the keys, except graph and cluster, whose values differ between problems.
std::vector<std::string> DifferingKeys(const std::vector<ProblemRuns>& problems) {
  std::vector<std::string> differing;
  for (const std::string& key : RunKeys()) {
    if (key == "agent" || key == "graph" || key == "cluster") continue;
    const auto value = [&](const ProblemRuns& problem) {
      const std::string* text = FindRunKey(*problem.runs[0], key);
      return text != nullptr ? *text : "";
    };
    const bool differs = std::any_of(problems.begin(), problems.end(), [&](const auto& problem) {
      return value(problem) != value(problems[0]);
    });
    if (differs) differing.push_back(key);
  }
  return differing;
}

std::string TitleOf(const ResultRun& run, const std::vector<std::string>& keys) {
  const auto text = [&](const std::string& key) {
    const std::string* value = FindRunKey(run, key);
    return value != nullptr ? *value : std::string();
  };
  std::string title = fmt::format("{} on {}", text("graph"), text("cluster"));
  for (const std::string& key : keys) title += fmt::format(", {} {}", key, text(key));
  return title;
}

TableRow MakeRow(const ProblemRuns& problem, const std::string& agent) {
  TableRow row;
  row.label = agent;
  std::vector<Nanos> times;
  std::vector<SearchEffort> efforts;
  for (const ResultRun* run : problem.runs) {
    const bool failed = run->progress == RunProgress::kFailed;
    if (run->agent != agent || (!failed && run->progress != RunProgress::kDone)) continue;
    ++row.runs;
    efforts.push_back({run->evaluations, run->seconds, run->hardware_seconds});
    if (failed && row.failed++ == 0) row.error = run->error;
    if (!failed && std::isfinite(run->best_ns)) times.push_back(static_cast<Nanos>(run->best_ns));
  }
  if (const ResultRun* best = problem.Best(agent); best != nullptr && best->best) {
    const auto devices = static_cast<int>(best->best->busy.size());
    row.best = {{}, best->best->ToOutcome(devices, best->file.string() + ": " + best->group), 0};
  }
  SetStepTimes(row, times);
  SetEfforts(row, efforts);
  return row;
}

}  // namespace

std::vector<ProblemRuns> GroupByProblem(const ResultRuns& results) {
  std::vector<ProblemRuns> problems;
  using Keys = std::map<std::string, std::string>;
  std::map<Keys, ProblemId> id_of;  // for runs without a file
  for (const ResultRun& run : results.runs) {
    if (run.problem) id_of.emplace(run.keys, *run.problem);
  }
  std::map<std::pair<Keys, ProblemId>, size_t> index;
  for (const ResultRun& run : results.runs) {
    const ProblemId id = run.problem ? *run.problem : id_of[run.keys];
    const auto [at, is_new] = index.emplace(std::pair(run.keys, id), problems.size());
    if (is_new) problems.emplace_back();
    problems[at->second].runs.push_back(&run);
  }
  const std::vector<std::string> keys = DifferingKeys(problems);
  for (ProblemRuns& problem : problems) problem.title = TitleOf(*problem.runs[0], keys);
  return problems;
}

std::vector<TableRow> MakeReportRows(const ProblemRuns& problem) {
  std::vector<TableRow> rows;
  for (const ResultRun* run : problem.runs) {
    const bool known = std::any_of(
        rows.begin(), rows.end(), [&](const TableRow& row) { return row.label == run->agent; });
    if (known) continue;
    TableRow row = MakeRow(problem, run->agent);
    row.label = run->agent;
    rows.push_back(std::move(row));
  }
  std::erase_if(rows, [](const TableRow& row) { return row.runs == 0; });
  SortRows(rows);
  return rows;
}

std::vector<SearchCurve> ReadCurves(const ProblemRuns& problem, const std::string& agent) {
  std::vector<SearchCurve> curves;
  for (const ResultRun* run : problem.runs) {
    if (run->agent != agent || run->progress != RunProgress::kDone) continue;
    curves.push_back({ThinSteps(ReadBestSoFar(*run), kMaxSteps),
                      {run->evaluations, run->best_ns, run->seconds, run->hardware_seconds}});
  }
  return curves;
}

}  // namespace emplace
