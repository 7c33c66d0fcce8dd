#include "experiments/run/run_reader.h"

#include <algorithm>
#include <regex>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/problem/load.h"
#include "experiments/problem/objective.h"
#include "experiments/problem/planned_step.h"
#include "experiments/run/run_config.h"
#include "experiments/run/search_record.h"
#include "framework/base/error.h"
#include "framework/results/results_reader.h"
#include "framework/search/costed_problem.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

// Returns the file named in the results, or the file named instead. @param option  "--graph"
fs::path Locate(const ResultsReader& reader,
                const std::string& results,
                const Menu& menu,
                const std::string& instead,
                const std::string& option) {
  if (option == "--costs" && instead == "none") return {};
  if (!instead.empty()) return ResolveMenu(menu, instead, option);
  const fs::path path = reader.Text("/config", option.substr(2) + "_path");
  std::error_code ignored;
  if (!path.empty() && !fs::exists(path, ignored)) {
    throw InputError(fmt::format("{}: its {} {} does not exist any more; name it with {}",
                                 results,
                                 menu.what,
                                 path.string(),
                                 option));
  }
  return path;
}

void RequireSameGraph(const ResultsReader& reader, const Graph& graph, const std::string& results) {
  const std::string name = reader.Text("/problem", "graph");
  if (graph.name() != name) {
    throw InputError(
        fmt::format("{}: was made with graph \"{}\", but the file holds \"{}\"; name the right "
                    "one with --graph",
                    results,
                    name,
                    graph.name()));
  }
  const std::vector<std::string> ops = reader.Strings("/problem/op_names");
  for (size_t v = 0; v < std::max<size_t>(ops.size(), graph.num_ops()); ++v) {
    const std::string theirs = v < ops.size() ? "\"" + ops[v] + "\"" : "none";
    const std::string ours =
        v < static_cast<size_t>(graph.num_ops()) ? "\"" + graph.op(v).name + "\"" : "none";
    if (theirs == ours) continue;
    throw InputError(
        fmt::format("{}: was made with another version of graph \"{}\": op {} was {}, but is {} "
                    "in the file; name the right file with --graph",
                    results,
                    name,
                    v,
                    theirs,
                    ours));
  }
}

void RequireSameDevices(const ResultsReader& reader,
                        const Cluster& cluster,
                        const std::string& results) {
  const std::vector<std::string> names = reader.Strings("/problem/device_names");
  if (cluster.DeviceNames() == names) return;
  throw InputError(
      fmt::format("{}: was made for the devices {}, but cluster \"{}\" has {}; name the right "
                  "cluster with --cluster",
                  results,
                  fmt::join(names, ", "),
                  cluster.name(),
                  fmt::join(cluster.DeviceNames(), ", ")));
}

}  // namespace

std::vector<Candidate> ReadCandidates(const ResultsReader& reader, const EarlierRun& run) {
  std::vector<std::tuple<bool, Nanos, Candidate>> found;  // those that fit first, then by time
  for (const std::string& label : reader.Children("/agents")) {
    const std::string best = "/agents/" + label + "/best", where = reader.name() + ": " + best;
    if (!reader.Has(best)) continue;  // the search failed, or was stopped at once
    const auto placement = ReadRecord<PlacementRecord>(reader, best);
    const auto outcome = ReadRecord<OutcomeRecord>(reader, best + "/outcome");
    Candidate next{
        .label = label,
        .placement = {placement.Devices(run.graph->num_ops(), run.cluster->num_devices(), where)},
        .searched = outcome.step_time};
    if (!run.simulate_groups) next.issue_order = placement.IssueOrder(*run.graph, where);
    found.emplace_back(!outcome.feasible, outcome.step_time, std::move(next));
  }
  if (found.empty()) {
    throw InputError(fmt::format("{}: no agent of this run found a placement", reader.name()));
  }
  std::ranges::stable_sort(
      found, {}, [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
  std::vector<Candidate> candidates;
  for (auto& one : found) AddCandidate(std::move(std::get<2>(one)), candidates);
  return candidates;
}

const Candidate& FindCandidate(const std::vector<Candidate>& found,
                               const std::string& label,
                               const std::string& where) {
  if (label.empty()) return found.front();
  std::vector<std::string> choices;
  for (const Candidate& candidate : found) {
    const std::vector<std::string> labels = SplitLabels(candidate.label);
    choices.insert(choices.end(), labels.begin(), labels.end());
    const bool wanted = std::any_of(labels.begin(), labels.end(), [&](const std::string& one) {
      return one == label || one.starts_with(label + ".seed");
    });
    if (wanted) return candidate;
  }
  ThrowUnknown(where, "agent", label, choices);
}

EarlierRun ReadRun(const ResultsReader& reader, const RunFiles& files) {
  EarlierRun run{.name = reader.name()};
  const std::string& name = run.name;
  const auto config =
      ReadFields<RunConfig>(ConfigNode::FromString(reader.Text("/config", "yaml"), name));
  if (reader.Text("/problem", "objective") == "period") run.objective = Objective::kPeriod;
  run.simulate_groups = reader.Int("/problem", "simulate_groups") != 0;
  run.semantics = ParseSemantics(reader.Text("/problem", "semantics"), name);
  run.count_gaps = reader.Int("/problem", "count_gaps") != 0;
  if (reader.HasAttribute("/problem", "priority")) {
    run.priority = ParsePriority(reader.Text("/problem", "priority"), name, run.semantics);
  }
  RunInputs inputs;
  inputs.graph = LoadGraph(Locate(reader, name, GraphMenu(), files.graph, "--graph"));
  inputs.cluster = LoadCluster(Locate(reader, name, ClusterMenu(), files.cluster, "--cluster"));
  inputs.passes = ParsePasses(config.coarsen);
  run.costs_path = Locate(reader, name, CostsMenu(), files.costs, "--costs");
  if (!run.costs_path.empty()) run.costs = LoadCosts(run.costs_path);
  inputs = WithPlan(std::move(inputs), config.plan, name, run.costs.get());
  run.graph = std::move(inputs.graph);
  run.cluster = std::move(inputs.cluster);
  run.passes = std::move(inputs.passes);
  run.origin = std::move(inputs.origin);
  RequireSameGraph(reader, *run.graph, name);
  RequireSameDevices(reader, *run.cluster, name);
  if (reader.Has("/problem/issue_order")) {
    run.issue_order = AsIssueOrder(
        reader.Ints("/problem/issue_order"), *run.graph, name + ": /problem/issue_order");
  }
  return run;
}

PlacedRun ReadPlacementFile(const std::string& path, const RunFiles& files) {
  EarlierRun run;
  run.graph = LoadGraph(ResolveMenu(GraphMenu(), files.graph, "--graph"));
  run.cluster = LoadCluster(ResolveMenu(ClusterMenu(), files.cluster, "--cluster"));
  PlacementFile file = ReadPlacement(path, *run.graph, *run.cluster, PrintWarning);
  const SimulatedAs simulated = file.simulated.value_or(SimulatedAs());
  const std::string where = path + ": simulated.";
  run.semantics = ParseSemantics(simulated.semantics, where + "semantics");
  run.priority = ParsePriority(simulated.priority, where + "priority", run.semantics);
  run.objective = ParseObjective(simulated.objective, where + "objective");
  run.count_gaps = simulated.count_gaps;
  run.simulate_groups = !simulated.contracted.empty();
  if (run.simulate_groups) {
    // Files of earlier versions call merge_cheapest `cheapest`.
    const std::string passes =
        std::regex_replace(simulated.contracted, std::regex(R"(\bcheapest\b)"), "merge_cheapest");
    run.passes = ParsePasses(ConfigNode::FromString(passes, where + "contracted"));
  }
  if (!files.costs.empty()) {
    if (files.costs != "none") run.costs_path = ResolveMenu(CostsMenu(), files.costs, "--costs");
  } else if (simulated.costs != "none") {
    run.costs_path = ResolveMenu(CostsMenu(), simulated.costs, where + "costs");
    std::error_code ignored;
    if (!fs::exists(run.costs_path, ignored)) {
      throw InputError(fmt::format(
          "{}: was simulated with the costs {}, whose file does not exist any more; name it with "
          "--costs, or none for the graph's own costs and the roofline model",
          path,
          run.costs_path.string()));
    }
  }
  if (!run.costs_path.empty()) run.costs = LoadCosts(run.costs_path);
  RequireLabelsTogether(file.device_of_op, *run.graph, *run.cluster, path);
  run.issue_order = std::move(file.issue_order);
  if (!file.simulated && !run.issue_order.empty()) run.priority = Priority::kGiven;
  return {std::move(run), path, {std::move(file.device_of_op)}, std::move(file.simulated)};
}

PlacedRun ReadPlacedRun(const std::string& path, const std::string& agent, const RunFiles& files) {
  if (IsPlacementFile(path)) {
    if (agent.empty()) return ReadPlacementFile(path, files);
    throw InputError(
        fmt::format("{}: --agent {} does not apply to a placement file, which holds one placement",
                    path,
                    agent));
  }
  const ResultsReader reader(path);
  EarlierRun run = ReadRun(reader, files);
  const std::vector<Candidate> found = ReadCandidates(reader, run);
  const Candidate& best = FindCandidate(found, agent, path + ": --agent");
  if (!best.issue_order.empty()) run.issue_order = best.issue_order;
  SimulatedAs simulated = DescribeSimulation(run);
  simulated.step_time = best.searched;
  return {std::move(run), best.label, best.placement, std::move(simulated)};
}

SimulatedAs DescribeSimulation(const EarlierRun& run) {
  return {.semantics = std::string(ToString(run.semantics)),
          .priority = std::string(ToString(run.priority)),
          .objective = std::string(ToString(run.objective)),
          .count_gaps = run.count_gaps,
          .costs = run.costs_path.empty() ? "none" : run.costs_path.string(),
          .contracted = run.simulate_groups ? FormatPasses(run.passes) : "",
          .step_time = {}};
}

SimulatedAs DescribeSimulation(const RunPlan& plan) {
  const fs::path costs = plan.costs.empty() ? fs::path("none") : fs::absolute(plan.costs);
  return {.semantics = std::string(ToString(plan.simulator.semantics)),
          .priority = std::string(ToString(plan.priority)),
          .objective = std::string(ToString(plan.objective)),
          .count_gaps = plan.simulator.count_gaps,
          .costs = costs.lexically_normal().string(),
          .contracted = plan.config.simulate_groups ? FormatPasses(plan.passes) : "",
          .step_time = {}};
}

std::shared_ptr<const Problem> MakeExactProblem(const EarlierRun& run,
                                                const std::string& where,
                                                Objective objective,
                                                std::optional<Semantics> semantics) {
  return CostedProblem(run.graph,
                       run.cluster,
                       where,
                       {.table = run.costs.get(),
                        .apart = CountsNeighbors(semantics.value_or(run.semantics)),
                        .warn = PrintWarning})
      .WithGroups(
          Grouping::Identity(run.graph->num_ops()), objective, ProblemChecks::kPlacementOnly);
}

LoadedProblem MakeRunProblem(const EarlierRun& run, const std::string& where) {
  return MakeProblem(run.graph,
                     run.cluster,
                     run.passes,
                     run.objective,
                     run.simulate_groups,
                     where,
                     run.costs.get(),
                     run.semantics);
}

SimulatorOptions HowSimulated(const EarlierRun& run, const Problem& problem) {
  SimulatorOptions how;
  how.semantics = run.semantics;
  how.count_gaps = run.count_gaps;
  return WithPriority(how, Priority::kGiven, problem, run.issue_order);
}

SimulatorOptions HowSearched(const EarlierRun& run, const Problem& searched) {
  SimulatorOptions how = HowSimulated(run, searched);
  if (!run.simulate_groups) {
    how.order_may_change =
        run.priority == Priority::kSearched && EntryOf(run.semantics).has_issue_order;
    return how;
  }
  // The contracted graph has its own order.
  return WithPriority(how, run.priority, searched);
}

}  // namespace emplace
