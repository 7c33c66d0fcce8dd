#include "experiments/robustness/stress_sweep.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/provenance/provenance.h"
#include "experiments/run/run_problem.h"
#include "experiments/run/run_reader.h"
#include "experiments/stress/stress_results.h"
#include "experiments/sweep/results_lock.h"
#include "experiments/table/table_runs.h"
#include "framework/base/error.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

// The done runs of a problem.
struct DoneRuns {
  std::string title;
  RunsOfProblem runs;
};

std::vector<DoneRuns> ListDoneRuns(const ResultRuns& results) {
  std::vector<DoneRuns> problems;
  for (RunsOfProblem& runs : RunsByProblem(results)) {
    std::erase_if(runs, [](const ResultRun* run) { return run->progress != RunProgress::kDone; });
    if (runs.empty()) continue;
    const ResultsReader reader(runs[0]->file);
    problems.push_back(
        {fmt::format(
             "{} on {}", reader.Text("/problem", "graph"), reader.Text("/problem", "cluster")),
         std::move(runs)});
  }
  return problems;
}

// Requires that a label belongs to one run in all files of a problem.
void RequireLabelsOnce(const DoneRuns& problem) {
  std::map<std::string, const ResultRun*> of_group;
  for (const ResultRun* run : problem.runs) {
    const auto [other, is_new] = of_group.emplace(run->group, run);
    if (is_new) continue;
    throw InputError(fmt::format(
        "{}: {} and {} are runs of the same agent, seed and problem, which differ in another key; "
        "name the results files one by one",
        problem.title,
        other->second->title,
        run->title));
  }
}

// Adds the placements of a further file; equal placements are merged, with all labels.
void AddCandidates(std::vector<Candidate> more, std::vector<Candidate>& candidates) {
  for (Candidate& next : more) {
    const auto same = std::ranges::find_if(candidates, [&](const Candidate& other) {
      return other.placement == next.placement && other.issue_order == next.issue_order;
    });
    if (same != candidates.end()) {
      same->label += ", " + next.label;
    } else {
      candidates.push_back(std::move(next));
    }
  }
}

SweepStress StressRuns(const DoneRuns& problem, const StressOptions& options) {
  SweepStress stressed{.title = problem.title, .files = {}, .result = {}};
  std::optional<EarlierRun> first;
  std::vector<Candidate> candidates;
  for (const ResultRun* run : problem.runs) {
    stressed.files.push_back(run->file);
    if (!std::isfinite(run->best_ns)) continue;
    if (first) {
      AddCandidates(ReadCandidates(run->file, *first), candidates);
    } else {
      first = ReadRun(run->file);
      candidates = first->found;
    }
  }
  const std::string where = stressed.files.at(0).string();
  const auto exact = MakeExactProblem(*first, where, first->objective);
  RequireSameFiles(where, *exact);
  stressed.result = Stress(exact, HowSimulated(*first, *exact), candidates, options);
  return stressed;
}

}  // namespace

std::vector<SweepStress> StressSweep(const fs::path& folder,
                                     const StressOptions& options,
                                     const std::function<void(const std::string& title)>& begin) {
  ReadResultRuns({folder});  // refuses folders without a sweep
  const ResultsLock lock({folder});
  const ResultRuns results = ReadResultRuns({folder});
  std::vector<DoneRuns> problems = ListDoneRuns(results);
  for (const DoneRuns& problem : problems) RequireLabelsOnce(problem);
  std::erase_if(problems, [](const DoneRuns& problem) {
    const bool fits = std::ranges::any_of(
        problem.runs, [](const ResultRun* run) { return std::isfinite(run->best_ns); });
    if (!fits) PrintWarning(problem.title + ": no placement fits; left out");
    return !fits;
  });
  if (problems.empty()) {
    throw InputError(folder.string() + ": no run is done that found a placement that fits");
  }
  const Provenance provenance = CollectProvenance();
  std::vector<SweepStress> stressed;
  for (const DoneRuns& problem : problems) {
    begin(problem.title);
    stressed.push_back(StressRuns(problem, options));
    for (const fs::path& path : stressed.back().files) {
      ResultsFile file(path, ResultsMode::kExtend);
      WriteStress(file, stressed.back().result, options, provenance);
      file.Commit();
    }
  }
  return stressed;
}

std::string SweepStressMarkdown(const std::vector<SweepStress>& problems) {
  std::vector<std::vector<std::string>> lines = {
      {"problem", "placements", "Kendall's tau", "winner", "stays best", "its regret", "largest"}};
  for (const SweepStress& problem : problems) {
    const StressScenario& noise = problem.result.scenarios.at(0);
    const std::vector<std::string> labels = SplitLabels(problem.result.placements[0].label);
    lines.push_back({problem.title,
                     std::to_string(problem.result.placements.size()),
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

}  // namespace emplace
