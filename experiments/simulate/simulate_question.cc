#include "experiments/simulate/simulate_question.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/console/menu.h"
#include "experiments/problem/coarsening_passes.h"
#include "experiments/problem/load.h"
#include "experiments/problem/objective.h"
#include "experiments/run/run_bound.h"
#include "framework/base/error.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

// Returns the issue order: --priority, else the order of the recorded simulation.
// @param run  in the semantics of this simulation
Priority ChoosePriority(const std::string& option,
                        const EarlierRun& run,
                        const std::string& where) {
  const bool has_order = !run.issue_order.empty();
  if (option.empty()) {
    if (!EntryOf(run.semantics).has_issue_order) return Priority::kId;
    if (has_order && !run.simulate_groups) return Priority::kGiven;
    return run.priority == Priority::kId ? Priority::kId : Priority::kUpwardRank;
  }
  const Priority priority = ParsePriority(option, "--priority", run.semantics);
  if (priority == Priority::kSearched) {
    throw InputError(
        "--priority: nothing is searched here, expected id, upward_rank or given, got searched");
  }
  if (priority != Priority::kGiven) return priority;
  if (run.simulate_groups) {
    throw InputError(
        fmt::format("{}: was simulated with contracted groups, and an issue order is one of ops; "
                    "--priority given needs --op-by-op",
                    where));
  }
  if (!has_order) {
    throw InputError(fmt::format("{}: has no issue_order, which --priority given asks for", where));
  }
  return priority;
}

// Returns whether --placement names a file: it exists, or the text looks like a path.
bool NamesFile(const std::string& placement) {
  std::error_code ignored;
  const fs::file_status status = fs::status(placement, ignored);
  return (fs::exists(status) && !fs::is_directory(status)) || IsPlacementFile(placement) ||
         placement.find('/') != std::string::npos;
}

// Returns the constructive agent of this name with the default settings.
AgentSpec FindConstructive(const std::string& name) {
  std::vector<std::string> choices;
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (entry.constructs) choices.push_back(entry.name);
  }
  if (std::ranges::find(choices, name) == choices.end()) {
    ThrowUnknown("--placement: no such file", "constructive agent", name, choices);
  }
  ConfigNode config;
  config.Set("agents", "[" + name + "]", "--placement");
  return ParseAgents(config.At("agents"), AllAgents(), {})[0];
}

// Reads the problem for an agent as `emplace run` does from a config without further keys.
Question ReadAgentQuestion(const SimulateOptions& options) {
  Question question{
      .where = options.placement,
      .where_costs = options.files.graph,
      .placed = {.run = {}, .label = options.placement, .placement = {}, .simulated = {}},
      .agent = FindConstructive(options.placement)};
  EarlierRun& run = question.placed.run;
  run.graph = LoadGraph(ResolveMenu(GraphMenu(), options.files.graph, "--graph"));
  run.cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.files.cluster, "--cluster"));
  if (const std::string& costs = options.files.costs; !costs.empty() && costs != "none") {
    run.costs_path = ResolveMenu(CostsMenu(), costs, "--costs");
    run.costs = LoadCosts(run.costs_path);
    question.where_costs += " with costs " + costs;
  }
  run.passes = ParsePasses(RunConfig().coarsen);
  return question;
}

Question ReadPlacementQuestion(const SimulateOptions& options, const Command& command) {
  if (options.files.graph.empty()) command.ThrowMissing("--graph");
  if (options.files.cluster.empty()) command.ThrowMissing("--cluster");
  if (!options.agent.empty()) {
    throw InputError(fmt::format(
        "{}: --agent {} does not apply here; it chooses among the placements of results",
        options.placement,
        options.agent));
  }
  if (!NamesFile(options.placement)) return ReadAgentQuestion(options);
  Question question{.where = options.placement,
                    .where_costs = options.files.graph,
                    .placed = ReadPlacementFile(options.placement, options.files)};
  const EarlierRun& run = question.placed.run;
  if (run.costs) {
    const std::string& named = options.files.costs;
    question.where_costs += " with costs " + (named.empty() ? run.costs_path.string() : named);
  }
  return question;
}

Question ReadResultsQuestion(const SimulateOptions& options) {
  Question question{.where = options.results,
                    .where_costs = options.results,
                    .placed = ReadPlacedRun(options.results, options.agent, options.files),
                    .of_results = true};
  const ResultsReader reader(options.results);
  const std::string costs = reader.Text("/config", "costs_path");
  question.placed.simulated->costs = costs.empty() ? "none" : costs;
  question.bound = ReadBound(reader);
  return question;
}

}  // namespace

Question ReadQuestion(SimulateOptions options, const Command& command) {
  if (IsPlacementFile(options.results)) std::swap(options.results, options.placement);
  if (options.results.empty() == options.placement.empty()) {
    if (options.results.empty()) command.ThrowMissing("results or --placement");
    throw InputError(
        fmt::format("{}: --placement {} names a second placement; expected one of the two",
                    options.results,
                    options.placement));
  }
  std::optional<Semantics> semantics;
  std::optional<Objective> objective;
  if (!options.semantics.empty()) semantics = ParseSemantics(options.semantics, "--semantics");
  if (!options.objective.empty()) objective = ParseObjective(options.objective, "--objective");
  Question question = options.results.empty() ? ReadPlacementQuestion(options, command)
                                              : ReadResultsQuestion(options);
  EarlierRun& run = question.placed.run;
  question.recorded = run.semantics;
  run.semantics = semantics.value_or(run.semantics);
  run.objective = objective.value_or(run.objective);
  run.count_gaps = run.count_gaps || options.count_gaps;
  run.simulate_groups = run.simulate_groups && !options.op_by_op;
  if (run.objective == Objective::kPeriod && !options.trace.empty()) {
    throw InputError(
        "--trace: a period of pipelined steps has no timeline; expected objective step_time");
  }
  question.priority = ChoosePriority(options.priority, run, question.where);
  return question;
}

}  // namespace emplace
