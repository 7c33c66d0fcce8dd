#include "experiments/sweep/sweep_problems.h"

#include <map>
#include <set>

#include <fmt/format.h>

namespace emplace {
namespace {

// Returns the contents of the file `path`; reads it at the first request.
template <class T, class Load>
const std::shared_ptr<const T>& LoadOnce(std::map<std::string, std::shared_ptr<const T>>& loaded,
                                         const std::filesystem::path& path,
                                         const Load& load) {
  std::shared_ptr<const T>& value = loaded[path.string()];
  if (value == nullptr) value = load(path);
  return value;
}

// Run configs with the same key have the same problem.
std::string ProblemKey(const RunPlan& plan) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}",
                     plan.graph.string(),
                     plan.cluster.string(),
                     plan.costs.string(),
                     plan.config.coarsen.Dump(),
                     plan.config.objective,
                     plan.config.contracted,
                     plan.config.semantics);
}

}  // namespace

SweepProblems LoadSweepProblems(const SweepPlan& plan, bool strict) {
  std::map<std::string, std::shared_ptr<const Graph>> graphs;
  std::map<std::string, std::shared_ptr<const Cluster>> clusters;
  std::map<std::string, std::shared_ptr<const CostTable>> tables;
  std::map<std::string, int> index_of_key;
  SweepProblems loaded;
  for (const RunPlan& config : plan.configs) {
    const auto [entry, is_new] =
        index_of_key.emplace(ProblemKey(config), static_cast<int>(loaded.problems.size()));
    loaded.of_config.push_back(entry->second);
    if (!is_new) continue;
    const CostTable* costs =
        config.costs.empty() ? nullptr : LoadOnce(tables, config.costs, &LoadCosts).get();
    const auto& graph =
        LoadOnce(graphs, config.graph, [&](const auto& path) { return LoadGraph(path, strict); });
    const auto& cluster = LoadOnce(clusters, config.cluster, &LoadCluster);
    if (strict) CheckDeviceKinds(*graph, cluster.get(), config.graph.string(), strict);
    SweepProblem& problem = loaded.problems.emplace_back();
    problem.problem =
        MakeProblem(graph,
                    cluster,
                    config.passes,
                    config.objective,
                    config.config.contracted,
                    config.graph.string() + (costs ? " with costs " + config.costs.string() : ""),
                    costs,
                    config.simulator.semantics);
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
