#include "experiments/run/run_results.h"

#include <cmath>
#include <optional>

#include "experiments/run/run_problem.h"
#include "experiments/run/search_record.h"
#include "framework/cost/cost_model.h"

namespace emplace {
CostSourceShares SharesOf(const LoadedProblem& problem, const Placement& placement) {
  return ComputeCostSourceShares(problem.exact->costs(), problem.Expand(placement));
}

StepInterval IntervalOfRun(const RunPlan& plan, const LoadedProblem& problem) {
  if (plan.objective != Objective::kStepTime)
    return {{}, "the held-out placements have step times only"};
  if (problem.simulate_groups) return {{}, "the held-out placements were simulated op by op"};
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
  WriteRecord(file, "/config", provenance);
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
  file.SetAttribute("/problem", "simulate_groups", std::int64_t{problem.simulate_groups});
  WriteProblemId(file, IdOf(exact, problem.simulate_groups, how));
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
  file.Remove(group);  // left by an earlier part of this search
  SearchRecord search{.algorithm = spec.entry->name,
                      .agent = spec.label,
                      .settings = spec.entry->resolve_settings(spec.settings),
                      .uses_seed = spec.entry->uses_seed,
                      .seed = result.seed,
                      .evaluations = std::ssize(result.records),
                      .steps = result.steps,
                      .seconds = result.seconds,
                      .hardware_seconds = HardwareSeconds(result.records, steps_per_measurement),
                      .steps_per_measurement = steps_per_measurement,
                      .status = std::string(ToString(result.status)),
                      .error = result.error};
  if (result.bound > 0) search.own_bound = result.bound;
  SearchLists lists;
  lists.updates = result.updates;
  lists.checkpoint = {result.checkpoint};
  for (const EvaluationRecord& record : result.records) {
    lists.evaluations.push_back({std::ssize(lists.evaluations), record});
  }
  if (const auto& best = result.best) {
    search.best = OutcomeRecord(*best, SharesOf(problem, best->placement));
    const std::vector<DeviceIndex> devices = problem.Expand(best->placement);
    lists.best = {.placement = {devices.begin(), devices.end()}};
    if (const std::vector<int>& order = best->issue_order; !order.empty()) {
      lists.best->issue_order.emplace(order.begin(), order.end());
    }
  }
  WriteRecord(file, group, std::move(search));
  WriteRecord(file, group, std::move(lists));
}

}  // namespace emplace
