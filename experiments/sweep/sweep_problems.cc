#include "experiments/sweep/sweep_problems.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "experiments/run/run_execution.h"

namespace emplace {
namespace {

// Run configs with the same key have the same problem.
std::string ProblemKey(const RunPlan& plan) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}",
                     plan.graph.string(),
                     plan.cluster.string(),
                     plan.costs.string(),
                     plan.config.coarsen.Dump(),
                     WriteFields(plan.config.plan),
                     plan.config.objective,
                     plan.config.simulate_groups,
                     plan.config.semantics);
}

}  // namespace

SweepProblems LoadSweepProblems(const SweepPlan& plan, bool strict) {
  ProblemLoader loader(strict);
  std::map<std::string, int> index_of_key;
  SweepProblems loaded;
  for (const RunPlan& config : plan.configs) {
    const auto [entry, is_new] =
        index_of_key.emplace(ProblemKey(config), static_cast<int>(loaded.problems.size()));
    loaded.of_config.push_back(entry->second);
    if (!is_new) continue;
    SweepProblem& problem = loaded.problems.emplace_back();
    problem.problem = loader.Load(config);
    problem.bounds = BoundProblem(problem.problem);
  }

  std::set<std::string> made;
  for (const SweepRun& run : plan.runs) {
    const int problem = loaded.of_config[run.config];
    const AgentSpec& spec = plan.configs[run.config].agents[run.agent];
    const std::string key = fmt::format(
        "{}\n{}\n{}", problem, spec.entry->name, spec.entry->resolve_settings(spec.settings));
    if (!made.insert(key).second) continue;
    spec.entry->make({loaded.problems[problem].problem.searched, run.seed}, spec.settings);
  }
  return loaded;
}

}  // namespace emplace
