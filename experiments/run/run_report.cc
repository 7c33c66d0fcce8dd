#include "experiments/run/run_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "experiments/run/run_results.h"

namespace emplace {

std::string HeaderText(const Run& run) {
  const Problem& exact = *run.problem.exact;
  std::string text = fmt::format(
      "graph    {}: {} ops, {} groups\n"
      "cluster  {}: {}\n"
      "model    {} semantics{}{}, {}{}\n"
      "bound    {} by {} (critical path {}, work {})\n",
      exact.graph().name(),
      exact.num_ops(),
      exact.num_groups(),
      exact.cluster().name(),
      fmt::join(exact.cluster().DeviceNames(), ", "),
      ToString(run.plan.simulator.semantics),
      run.plan.priority == Priority::kId
          ? ""
          : fmt::format(" with priority {}", ToString(run.plan.priority)),
      run.plan.simulator.count_gaps ? " counting trailing gaps" : "",
      run.plan.objective == Objective::kPeriod ? "period of pipelined steps" : "step time",
      run.problem.simulate_groups ? ", groups contracted (an approximation)" : "",
      FormatTime(run.bounds.proven.value),
      run.bounds.proven.method,
      FormatTime(run.bounds.simple.critical_path),
      FormatTime(run.bounds.simple.work));
  const auto& single = run.scale.best_single_device;
  text += single ? fmt::format("single   {} on {}, the best single device that fits\n",
                               FormatTime(single->step_time),
                               single->device)
                 : std::string("single   the model does not fit on a single device\n");
  if (run.ranks != nullptr) {
    text += fmt::format("ranks    {}, each with {} thread{}\n",
                        run.ranks->size(),
                        run.plan.simulator.threads,
                        run.plan.simulator.threads == 1 ? "" : "s");
  }
  if (!run.earlier.empty()) {
    const auto stopped = std::ranges::count_if(
        run.earlier, [](const auto& search) { return !search.second.checkpoint.empty(); });
    text += fmt::format("resumed  {} searches continue, {} are complete, {} start\n",
                        stopped,
                        run.earlier.size() - stopped,
                        run.tasks.size() - run.earlier.size());
  }
  return text;
}

std::string ShortOutcome(const SearchResult& result, const Cluster& cluster) {
  if (result.status == SearchStatus::kFailed) return "failed: " + result.error;
  if (!result.best) return "nothing evaluated";
  const Outcome& outcome = result.best->outcome;
  return outcome.feasible ? FormatTime(outcome.step_time) : FormatDeficit(outcome, cluster);
}

std::vector<TableRow> MakeRows(const Run& run) {
  std::vector<TableRow> rows;
  for (size_t agent = 0; agent < run.plan.agents.size(); ++agent) {
    std::vector<const SearchResult*> results;
    for (size_t i = 0; i < run.tasks.size(); ++i) {
      if (run.tasks[i].agent == static_cast<int>(agent)) results.push_back(&run.results[i]);
    }
    rows.push_back(SummarizeAgent(
        run.plan.agents[agent].label, results, run.plan.config.steps_per_measurement));
  }
  SortRows(rows);
  return rows;
}

namespace {

// Returns the interval of the best step time, the least difference that the costs resolve, and the
// agents whose difference from the best is smaller. Empty without held-out placements. Overlapping
// intervals do not make two placements equal: both have similar errors.
std::string IntervalText(const Run& run, const TableRow& row, Nanos best) {
  const StepInterval step = IntervalOfRun(run.plan, run.problem);
  const auto time = static_cast<double>(best);
  std::string text;
  if (step.interval.is_bounded()) {
    text = fmt::format("interval {} for {:.0f} % of measured steps, from {}\n",
                       FormatInterval(step.interval.Around(time)),
                       100 * step.interval.level,
                       step.source);
  }
  if (!std::isfinite(step.resolved)) return text;
  std::vector<std::string> unresolved;
  for (const TableRow& other : MakeRows(run)) {
    if (other.label == row.label || !other.least) continue;
    const double difference = static_cast<double>(*other.least) / time - 1;
    if (difference > step.resolved) continue;
    unresolved.push_back(fmt::format("{} ({:+.1f} %)", other.label, 100 * difference));
  }
  return text + fmt::format(
                    "resolves differences above {:.1f} % (right for {:.0f} % of held-out pairs); "
                    "agents closer to the best: {}\n",
                    100 * step.resolved,
                    100 * kResolvedShare,
                    unresolved.empty() ? "none" : fmt::format("{}", fmt::join(unresolved, ", ")));
}

}  // namespace

std::string BestText(const Run& run, const TableRow& row, const std::filesystem::path& placement) {
  const Cluster& cluster = run.problem.exact->cluster();
  const MeteredEvaluator::Best& best = *row.best;
  const LowerBound& bound = run.bounds.proven;
  std::string proof;
  if (best.outcome.feasible) {
    proof = IsOptimal(bound, best.outcome.step_time)
                ? ", proven optimal by " + bound.method
                : fmt::format(", gap {} to {} by {}",
                              GapText(bound, best.outcome.step_time),
                              FormatTime(bound.value),
                              bound.method);
  }
  std::string text = fmt::format("best     {} by {}{}; op costs from: {}\n",
                                 best.outcome.feasible ? FormatTime(best.outcome.step_time)
                                                       : FormatDeficit(best.outcome, cluster),
                                 row.label,
                                 proof,
                                 FormatShares(SharesOf(run.problem, best.placement)));
  if (best.outcome.feasible) text += IntervalText(run, row, best.outcome.step_time);
  if (run.problem.simulate_groups) {
    const Outcome exact = MakeSimulator(run.problem.exact, run.exact)->Evaluate(best.placement);
    text +=
        fmt::format("exact    {} for the same placement, simulated op by op\n",
                    exact.feasible ? FormatTime(exact.step_time) : FormatDeficit(exact, cluster));
  }
  return text + fmt::format("placement {}\n", placement.string());
}

std::string TableAsJson(const Run& run, const std::vector<TableRow>& rows) {
  nlohmann::ordered_json json;
  json["graph"] = run.problem.exact->graph().name();
  json["cluster"] = run.problem.exact->cluster().name();
  json["semantics"] = ToString(run.plan.simulator.semantics);
  json["priority"] = ToString(run.plan.priority);
  json["objective"] = run.plan.config.objective;
  json["simulate_groups"] = run.problem.simulate_groups;
  json["bound_ns"] = run.bounds.proven.value;
  json["bound_method"] = run.bounds.proven.method;
  json["optimal"] = std::ranges::any_of(
      rows, [&](const TableRow& row) { return IsOptimal(run.bounds.proven, row.least); });
  json["best_single_device"] = nullptr;
  if (const auto& single = run.scale.best_single_device) {
    json["best_single_device"] = {{"device", single->device}, {"step_time_ns", single->step_time}};
  }
  const StepInterval step = IntervalOfRun(run.plan, run.problem);
  json["interval_low_ratio"] = json["interval_high_ratio"] = nullptr;
  if (step.interval.is_bounded()) {
    json["interval_low_ratio"] = step.interval.low;
    json["interval_high_ratio"] = step.interval.high;
  }
  json["interval_source"] = step.source;
  json["resolved_difference"] = nullptr;
  if (std::isfinite(step.resolved)) json["resolved_difference"] = step.resolved;
  json["steps_per_measurement"] = run.plan.config.steps_per_measurement;
  json["agents"] =
      nlohmann::ordered_json::parse(FormatTableJson(rows, run.scale, run.problem.exact->cluster()));
  return json.dump(2) + "\n";
}

}  // namespace emplace
