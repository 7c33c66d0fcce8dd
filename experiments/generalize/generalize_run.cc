#include "experiments/generalize/generalize_run.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "agents/shared/policy_file.h"
#include "experiments/console/config_edit.h"
#include "experiments/console/stop_request.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Clock = std::chrono::steady_clock;

// Returns whether the last placement is the result of a policy: agents with the setting `updates`
// end with it after that many updates. The last placement of other searches is any candidate.
bool EndsWithPolicy(const AgentSpec& spec, SearchStatus status) {
  const ConfigNode settings =
      ConfigNode::FromString(spec.entry->resolve_settings(spec.settings), spec.label);
  return status == SearchStatus::kFinished && settings.Has("updates") &&
         settings.At("updates").AsInt() >= 0;
}

}  // namespace

Family LoadFamily(const FamilyPlan& plan, bool strict) {
  Family family;
  family.plan = &plan;
  std::map<std::filesystem::path, std::shared_ptr<const Cluster>> clusters;
  const auto load = [&](const std::filesystem::path& graph, const std::filesystem::path& cluster) {
    auto& loaded = clusters[cluster];
    if (loaded == nullptr) loaded = LoadCluster(cluster);
    const auto read = LoadGraph(graph, strict);
    if (strict) CheckDeviceKinds(*read, loaded.get(), graph.string(), strict);
    return MakeProblem(read,
                       loaded,
                       plan.passes,
                       Objective::kStepTime,
                       plan.config.simulate_groups,
                       graph.string(),
                       nullptr,
                       plan.simulator.semantics)
        .searched;
  };
  for (std::size_t i = 0; i < plan.train.size(); ++i) {
    family.train.push_back(load(plan.train[i], plan.train_clusters[i]));
  }
  for (std::size_t i = 0; i < plan.test.size(); ++i) {
    family.test.push_back(load(plan.test[i], plan.test_clusters[i]));
  }
  return family;
}

void Train(const Family& family,
           const TrainPlan& plan,
           std::uint64_t seed,
           int threads,
           Training& training,
           const std::function<void(std::int64_t)>& progress) {
  try {
    const auto trainer = plan.agent.entry->make_trainer({family.train, seed, threads, plan.updates},
                                                        plan.agent.settings);
    if (!training.checkpoint.text.empty()) {
      std::istringstream saved(training.checkpoint.text);
      trainer->Load(saved);
    }
    std::vector<std::unique_ptr<Evaluator>> owned;
    std::vector<Evaluator*> evaluators;
    for (const auto& problem : family.train) {
      owned.push_back(MakeSimulator(
          problem, WithPriority(family.plan->simulator, family.plan->priority, *problem)));
      evaluators.push_back(owned.back().get());
    }
    const Clock::time_point begin = Clock::now();
    while (trainer->updates().num_rows() < plan.updates && !StopRequest::requested()) {
      trainer->Step(evaluators);
      progress(trainer->updates().num_rows());
    }
    training.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    training.updates = trainer->updates();
    const bool done = training.updates.num_rows() >= plan.updates;
    std::ostringstream text;
    done ? trainer->SavePolicy(text) : trainer->Save(text);
    training.checkpoint = {done ? "" : text.str()};
    if (done) {
      training.policy = {
          PolicyFileText(text.str(), plan.agent.entry->resolve_settings(plan.agent.settings))};
    }
  } catch (const std::exception& error) {
    throw RunError(
        fmt::format("{} on family {}: {}", training.label, family.plan->config.name, error.what()));
  }
}

ConfigNode SettingsWithPolicy(const TestPlan& plan, const std::filesystem::path& policy_path) {
  ConfigNode settings = plan.agent.settings;
  settings.Set("policy", QuoteYaml(policy_path.string()), PlaceOnly(plan.agent.settings));
  return settings;
}

std::optional<Test> RunTest(const Family& family,
                            const TestPlan& plan,
                            int graph,
                            std::uint64_t seed,
                            const std::filesystem::path& policy_path) {
  AgentSpec spec = plan.agent;
  if (!plan.policy.empty()) spec.settings = SettingsWithPolicy(plan, policy_path);
  const auto& problem = family.test[graph];
  const SearchResult result =
      RunSearch(problem,
                WithPriority(family.plan->simulator, family.plan->priority, *problem),
                spec,
                seed,
                plan.budget);
  if (ProgressOf(ToString(result.status)) == RunProgress::kStopped) return std::nullopt;
  if (result.status == SearchStatus::kFailed || result.records.empty()) {
    throw RunError(fmt::format("{} on graph \"{}\": {}",
                               result.label,
                               problem->graph().name(),
                               result.error.empty() ? "evaluated nothing" : result.error));
  }
  Test test;
  test.graph = graph;
  test.seed = seed;
  const EvaluationRecord& last = result.records.back();
  test.best_step_time =
      last.best_step_time < kMaxNanos ? static_cast<double>(last.best_step_time) : kNan;
  test.final_step_time = !EndsWithPolicy(spec, result.status) ? test.best_step_time
                         : last.feasible                      ? static_cast<double>(last.step_time)
                                                              : kNan;
  test.evaluations = std::ssize(result.records);
  test.seconds = result.seconds;
  return test;
}

std::vector<double> BestKnown(const std::vector<Test>& tests, int num_graphs) {
  std::vector<double> best(num_graphs, kNan);
  for (const Test& test : tests) {
    best[test.graph] = std::fmin(best[test.graph], test.best_step_time);
  }
  return best;
}

}  // namespace emplace
