#include "experiments/sweep/sweep_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/console/output.h"

namespace emplace {
namespace {

constexpr size_t kListedFailedRuns = 20;

}  // namespace

std::string ShortState(const ResultRun& state) {
  if (state.progress == RunProgress::kFailed) return "failed: " + state.error;
  const std::string best = !state.best            ? "nothing evaluated"
                           : state.best->feasible ? FormatTime(state.best->step_time)
                                                  : "OOM";
  if (state.progress == RunProgress::kDone) {
    return fmt::format("{} ({} evaluations, {:.1f} s)", best, state.evaluations, state.seconds);
  }
  return state.error.empty() ? "stopped" : "stopped: " + state.error;
}

int CountRuns(const std::vector<ResultRun>& states, RunProgress progress) {
  return static_cast<int>(std::count_if(states.begin(), states.end(), [&](const ResultRun& state) {
    return state.progress == progress;
  }));
}

std::vector<int> FailedRuns(const std::vector<ResultRun>& states) {
  std::vector<int> failures;
  for (int run = 0; run < std::ssize(states); ++run) {
    if (!states[run].error.empty()) failures.push_back(run);
  }
  return failures;
}

BestRuns::BestRuns(const Sweep& sweep, const std::vector<ResultRun>& states)
    : sweep_(sweep), states_(states), best_(sweep.problems.problems.size(), -1) {
  for (int run = 0; run < std::ssize(states); ++run) Update(run);
}

void BestRuns::Update(int run) {
  const ResultRun& state = states_[run];
  if (!state.best || !state.best->feasible) return;
  int& best = best_[sweep_.problems.of_config[sweep_.plan.runs[run].config]];
  const auto time = [&](int other) { return states_[other].best->step_time; };
  if (best < 0 || time(run) < time(best) || (time(run) == time(best) && run < best)) best = run;
}

std::string BestRuns::Text(int problem) const {
  const int best = best_[problem];
  if (best < 0) return "";
  const RunPlan& config = sweep_.plan.configs[sweep_.plan.runs[best].config];
  return fmt::format(
      "{} by {} (#{}), {}",  // most important first: a narrow terminal cuts off the end
      FormatTime(states_[best].best->step_time),
      LabelOfRun(sweep_.plan, best),
      best,
      DescribeProblem(config.config.graph, config.config.cluster));
}

std::string SweepSummary(const Sweep& sweep, const std::vector<ResultRun>& states) {
  std::string text;
  const BestRuns bests(sweep, states);
  for (int problem = 0; problem < std::ssize(sweep.problems.problems); ++problem) {
    const std::string best = bests.Text(problem);
    if (!best.empty()) text += "best     " + best + "\n";
  }
  const std::vector<int> failures = FailedRuns(states);
  for (size_t i = 0; i < std::min(failures.size(), kListedFailedRuns); ++i) {
    text += fmt::format(
        "failed   {}: {}\n", RunTitle(sweep.plan, failures[i]), states[failures[i]].error);
  }
  if (failures.size() > kListedFailedRuns) {
    text += fmt::format("failed   and {} more\n", failures.size() - kListedFailedRuns);
  }
  return text + fmt::format("runs     {} of {} done\nresults  {}\n",
                            CountRuns(states, RunProgress::kDone),
                            states.size(),
                            sweep.folder.path().string());
}

}  // namespace emplace
