#include "experiments/run/run_results.h"

#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "experiments/run/run_problem.h"
#include "framework/cost/cost_model.h"

namespace emplace {
namespace {

TableColumn Ints(std::string name, std::vector<std::int64_t> values) {
  return {std::move(name), std::move(values)};
}

TableColumn Doubles(std::string name, std::vector<double> values) {
  return {std::move(name), std::move(values)};
}

void WriteEvaluations(ResultsFile& file,
                      const std::string& group,
                      const std::vector<EvaluationRecord>& records) {
  std::vector<std::int64_t> index, step_time, feasible;
  std::vector<double> wall, best;
  for (const EvaluationRecord& record : records) {
    index.push_back(static_cast<std::int64_t>(index.size()));
    wall.push_back(record.wall_seconds);
    step_time.push_back(record.step_time);
    best.push_back(record.best_step_time < kMaxNanos ? static_cast<double>(record.best_step_time)
                                                     : std::numeric_limits<double>::quiet_NaN());
    feasible.push_back(record.feasible);
  }
  file.WriteTable(group + "/evaluations",
                  {Ints("index", std::move(index)),
                   Doubles("wall_seconds", std::move(wall)),
                   Ints("step_time_ns", std::move(step_time)),
                   Doubles("best_step_time_ns", std::move(best)),
                   Ints("feasible", std::move(feasible))});
}

void WriteBest(ResultsFile& file,
               const std::string& group,
               const LoadedProblem& problem,
               const MeteredEvaluator::Best& best) {
  const std::vector<DeviceIndex> device_of_op = problem.Expand(best.placement);
  file.WriteInts(group + "/placement", {device_of_op.begin(), device_of_op.end()});
  if (!best.issue_order.empty()) {
    file.WriteInts(group + "/issue_order", {best.issue_order.begin(), best.issue_order.end()});
  }
  const std::string outcome = group + "/outcome";
  file.SetAttribute(outcome, "step_time_ns", best.outcome.step_time);
  file.SetAttribute(outcome, "feasible", std::int64_t{best.outcome.feasible});
  file.SetAttribute(outcome, "evaluation", best.index);
  const RungShares shares = SharesOf(problem, best.placement);
  for (int rung = 0; rung < kNumRungs; ++rung) {
    file.SetAttribute(
        outcome, "rung_" + std::string(ToString(static_cast<Rung>(rung))), shares[rung]);
  }
  std::vector<std::int64_t> busy, peak, deficit;
  for (const DeviceOutcome& device : best.outcome.devices) {
    busy.push_back(device.busy);
    peak.push_back(device.peak);
    deficit.push_back(device.deficit);
  }
  file.WriteInts(outcome + "/busy_ns", busy);
  file.WriteInts(outcome + "/peak_bytes", peak);
  file.WriteInts(outcome + "/deficit_bytes", deficit);
}

}  // namespace

RungShares SharesOf(const LoadedProblem& problem, const Placement& placement) {
  return ComputeRungShares(problem.exact->costs(), problem.Expand(placement));
}

void WriteUpdates(ResultsFile& file, const std::string& dataset, const UpdateTable& updates) {
  const size_t width = updates.columns.size();
  std::vector<TableColumn> columns;
  for (size_t c = 0; c < width; ++c) {
    std::vector<double> values;
    for (size_t i = c; i < updates.values.size(); i += width) values.push_back(updates.values[i]);
    columns.push_back(Doubles(updates.columns[c], std::move(values)));
  }
  file.WriteTable(dataset, columns);
}

StepInterval IntervalOfRun(const RunPlan& plan, const LoadedProblem& problem) {
  if (plan.objective != Objective::kStepTime) return {{}, "held-out placements are of step times"};
  if (problem.contracted) return {{}, "held-out placements are simulated op by op"};
  return problem.interval;
}

void WriteRunHeader(ResultsFile& file,
                    const RunPlan& plan,
                    const LoadedProblem& problem,
                    const ProblemBounds& bounds,
                    const Provenance& provenance) {
  file.SetAttribute("/config", "name", plan.name);
  file.SetAttribute("/config", "yaml", plan.ResolvedYaml());
  const auto absolute = [](const std::filesystem::path& path) {
    return path.empty() ? std::string()
                        : std::filesystem::absolute(path).lexically_normal().string();
  };
  file.SetAttribute("/config", "graph_path", absolute(plan.graph));
  file.SetAttribute("/config", "cluster_path", absolute(plan.cluster));
  file.SetAttribute("/config", "costs_path", absolute(plan.costs));
  WriteProvenance(file, "/config", provenance);
  file.WriteInts("/config/seeds", {plan.seeds.begin(), plan.seeds.end()});

  const Problem& exact = *problem.exact;
  const SimulatorOptions how = plan.SimulatorFor(exact);
  file.SetAttribute("/problem", "graph", exact.graph().name());
  file.SetAttribute("/problem", "cluster", exact.cluster().name());
  file.SetAttribute("/problem", "semantics", std::string(ToString(plan.simulator.semantics)));
  if (plan.priority != Priority::kId) {
    file.SetAttribute("/problem", "priority", std::string(ToString(plan.priority)));
    file.WriteInts("/problem/issue_order", {how.issue_order.begin(), how.issue_order.end()});
  }
  file.SetAttribute("/problem", "count_gaps", std::int64_t{plan.simulator.count_gaps});
  file.SetAttribute("/problem", "objective", plan.config.objective);
  file.SetAttribute("/problem", "contracted", std::int64_t{problem.contracted});
  WriteProblemId(file, IdOf(exact, problem.contracted, how));
  WriteBound(file, bounds.proven, std::nullopt);
  file.SetAttribute("/problem", "critical_path_ns", bounds.simple.critical_path);
  file.SetAttribute("/problem", "work_ns", bounds.simple.work);
  const StepInterval step = IntervalOfRun(plan, problem);
  if (step.interval.is_bounded()) {
    file.SetAttribute("/problem", "interval_level", step.interval.level);
    file.SetAttribute("/problem", "interval_low_ratio", step.interval.low);
    file.SetAttribute("/problem", "interval_high_ratio", step.interval.high);
    file.SetAttribute("/problem", "interval_source", step.source);
  }
  if (std::isfinite(step.resolved)) {
    file.SetAttribute("/problem", "resolved_difference", step.resolved);
  }
  std::vector<std::string> ops;
  for (const Op& op : exact.graph().ops()) ops.push_back(op.name);
  file.WriteStrings("/problem/op_names", ops);
  file.WriteStrings("/problem/device_names", exact.cluster().DeviceNames());
  const std::span<const int> groups = exact.grouping().group_of_op();
  file.WriteInts("/problem/group_of_op", {groups.begin(), groups.end()});
}

void WriteBestSingleDevice(ResultsFile& file, const std::optional<SingleDevice>& best) {
  if (!best) return;
  file.SetAttribute("/problem", "best_single_device", best->device);
  file.SetAttribute("/problem", "best_single_device_ns", best->step_time);
}

std::optional<SingleDevice> ReadBestSingleDevice(const ResultsReader& reader) {
  if (!reader.HasAttribute("/problem", "best_single_device")) return std::nullopt;
  return SingleDevice{reader.Text("/problem", "best_single_device"),
                      reader.Int("/problem", "best_single_device_ns")};
}

void WriteSearch(ResultsFile& file,
                 const LoadedProblem& problem,
                 const AgentSpec& spec,
                 int steps_per_measurement,
                 const SearchResult& result) {
  const std::string group = "/agents/" + result.label;
  file.Remove(group);  // what an earlier part of this search left
  file.SetAttribute(group, "agent", spec.entry->name);
  file.SetAttribute(group, "label", spec.label);
  file.SetAttribute(group, "settings", spec.entry->resolve_settings(spec.settings));
  file.SetAttribute(group, "uses_seed", std::int64_t{spec.entry->uses_seed});
  file.SetAttribute(group, "seed", static_cast<std::int64_t>(result.seed));
  file.SetAttribute(group, "evaluations", static_cast<std::int64_t>(result.records.size()));
  file.SetAttribute(group, "steps", result.steps);
  file.SetAttribute(group, "seconds", result.seconds);
  file.SetAttribute(
      group, "hardware_seconds", HardwareSeconds(result.records, steps_per_measurement));
  file.SetAttribute(group, "steps_per_measurement", std::int64_t{steps_per_measurement});
  file.SetAttribute(group, "status", std::string(ToString(result.status)));
  file.SetAttribute(group, "error", result.error);
  if (result.bound > 0) file.SetAttribute(group, "bound_ns", result.bound);
  WriteEvaluations(file, group, result.records);
  if (!result.updates.columns.empty()) WriteUpdates(file, group + "/updates", result.updates);
  if (result.best) WriteBest(file, group + "/best", problem, *result.best);
  if (!result.checkpoint.empty()) file.WriteStrings(group + "/checkpoint", {result.checkpoint});
}

}  // namespace emplace
