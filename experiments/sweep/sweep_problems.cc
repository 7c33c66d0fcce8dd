#include "experiments/sweep/sweep_problems.h"

#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "experiments/run/run_execution.h"
#include "framework/base/error.h"

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
  return loaded;
}

void CheckAgents(const SweepPlan& plan, const SweepProblems& problems) {
  struct Answers {
    bool accepts = false;  // some problem
    std::optional<InputError> refusal;
  };
  std::map<std::string, Answers> answers;  // by agent with its settings
  std::set<std::string> made;
  for (const SweepRun& run : plan.runs) {
    const int problem = problems.of_config[run.config];
    const AgentSpec& spec = plan.configs[run.config].agents[run.agent];
    const std::string agent =
        fmt::format("{}\n{}", spec.entry->name, spec.entry->resolve_settings(spec.settings));
    Answers& answer = answers[agent];
    if (plan.config.allow_refusals && answer.accepts) continue;
    if (!made.insert(fmt::format("{}\n{}", problem, agent)).second) continue;
    try {
      spec.entry->make({problems.problems[problem].problem.searched, run.seed}, spec.settings);
      answer.accepts = true;
    } catch (const InputError& error) {
      if (!plan.config.allow_refusals) throw;
      answer.refusal = error;
    }
  }
  for (const auto& [agent, answer] : answers) {
    if (!answer.accepts) throw *answer.refusal;
  }
}

}  // namespace emplace
