#include "experiments/generalize/generalize_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/console/menu.h"
#include "framework/base/error.h"
#include "framework/base/path_part.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string> kTrainKeys = {"training_updates"};
const std::vector<std::string> kTestKeys = {"policy", "evaluations"};

constexpr std::int64_t kMostEvaluations = 100000;  // limit of a test without a budget

std::int64_t ReadCount(const ConfigNode& node) {
  const std::int64_t count = node.AsInt();
  if (count < 1) node.Fail(fmt::format("expected a number of at least 1, got {}", count));
  return count;
}

std::vector<fs::path> ResolveGraphs(const std::vector<std::string>& names,
                                    const std::string& where,
                                    const fs::path& beside,
                                    int at_most) {
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    if (at_most > 0 && std::ssize(paths) == at_most) break;
    paths.push_back(ResolveMenu(GraphMenu(), name, where, beside).lexically_normal());
  }
  if (paths.empty()) throw InputError(where + ": expected at least one graph");
  return paths;
}

// Returns a cluster for each of `count` graphs: those in `names`, in turn.
std::vector<fs::path> ResolveClusters(const std::vector<std::string>& names,
                                      const ConfigNode& place,
                                      const fs::path& beside,
                                      std::size_t count) {
  std::vector<fs::path> listed, clusters;
  for (const std::string& name : names) {
    listed.push_back(ResolveMenu(ClusterMenu(), name, place.Where(), beside).lexically_normal());
  }
  for (std::size_t i = 0; i < count; ++i) clusters.push_back(listed[i % listed.size()]);
  return clusters;
}

FamilyPlan ReadFamily(const ConfigNode& name,
                      const fs::path& beside,
                      const ConfigNode& run_root,
                      const GeneralizeConfig& run) {
  const fs::path path = ResolveMenu(FamilyMenu(), name.AsString(), name.Where(), beside);
  const ConfigNode root = ConfigNode::FromFile(path);
  FamilyPlan plan;
  plan.config = ReadFields<FamilyConfig>(root);
  const FamilyConfig& config = plan.config;
  if (!IsPathPart(config.name)) {  // names are names of HDF5 groups
    root.At("name").Fail(fmt::format("expected {}", kPathPartHelp));
  }
  const fs::path folder = path.parent_path();
  plan.train = ResolveGraphs(config.train, root.At("train").Where(), folder, run.max_train_graphs);
  plan.test = ResolveGraphs(config.test, root.At("test").Where(), folder, run.max_test_graphs);
  for (const fs::path& graph : plan.test) {
    if (std::find(plan.train.begin(), plan.train.end(), graph) == plan.train.end()) continue;
    root.At("test").Fail(fmt::format("{} is also a training graph", graph.string()));
  }
  const auto clusters = [&](const char* key, const std::vector<std::string>& names, std::size_t n) {
    if (!run.cluster.empty()) {
      return ResolveClusters({run.cluster}, run_root.At("cluster"), beside, n);
    }
    if (names.empty()) return ResolveClusters({config.cluster}, root.At("cluster"), folder, n);
    return ResolveClusters(names, root.At(key), folder, n);
  };
  plan.train_clusters = clusters("train_clusters", config.train_clusters, plan.train.size());
  plan.test_clusters = clusters("test_clusters", config.test_clusters, plan.test.size());
  plan.passes = ParsePasses(config.coarsen);
  plan.simulator.semantics = ParseSemantics(
      config.semantics, (root.Has("semantics") ? root.At("semantics") : root).Where());
  plan.simulator.count_gaps = config.count_gaps;
  plan.priority =
      ParsePriority(config.priority, PlaceOf(root, "priority").Where(), plan.simulator.semantics);
  if (plan.priority == Priority::kGiven || plan.priority == Priority::kSearched) {
    root.At("priority")
        .Fail(fmt::format("one issue order does not fit the many graphs of a family; expected id "
                          "or upward_rank, got {}",
                          ToString(plan.priority)));
  }
  return plan;
}

TrainPlan ReadTrain(const ConfigNode& node, AgentSpec agent) {
  if (!agent.entry->make_trainer) {
    node.Fail(
        fmt::format("the policy of agent \"{}\" does not fit other graphs", agent.entry->name));
  }
  return {std::move(agent), ReadCount(node.At("training_updates"))};
}

TestPlan ReadTest(const ConfigNode& node, AgentSpec agent, const std::vector<TrainPlan>& trained) {
  TestPlan plan{std::move(agent), "", {.evaluations = kMostEvaluations}};
  if (node.IsMap() && node.Has("evaluations")) {
    plan.budget.evaluations = ReadCount(node.At("evaluations"));
  }
  if (!node.IsMap() || !node.Has("policy")) return plan;
  plan.policy = node.At("policy").AsString();
  const auto found = std::find_if(trained.begin(), trained.end(), [&](const TrainPlan& train) {
    return train.agent.label == plan.policy;
  });
  std::vector<std::string> labels;
  for (const TrainPlan& train : trained) labels.push_back(train.agent.label);
  if (found == trained.end())
    ThrowUnknown(node.At("policy").Where(), "policy", plan.policy, labels);
  if (found->agent.entry != plan.agent.entry) {
    node.At("policy").Fail(fmt::format("\"{}\" is a policy of agent {}, not of {}",
                                       plan.policy,
                                       found->agent.entry->name,
                                       plan.agent.entry->name));
  }
  ConfigNode root;
  const std::string& name = plan.agent.entry->name;
  root.Set(name, "{}", PlaceOnly(node));
  SetValues(root, name, found->agent.settings);
  SetValues(root, name, plan.agent.settings);
  plan.agent.settings = root.At(name);
  return plan;
}

}  // namespace

void GeneralizeConfig::Visit(FieldVisitor& v) {
  v.Field("families", families, "required: names of configs/families, or paths");
  v.Field("cluster", cluster, "cluster for all graphs, instead of the families' own clusters");
  v.Field("train",
          train,
          "policies to train: agents as in a run config, with training_updates; each policy is "
          "trained on all training graphs of a family together");
  v.Field("test",
          test,
          "required: methods that place the other graphs, as agents in a run config. Further keys: "
          "policy, a label of `train` (its settings are taken over), and evaluations, a budget "
          "(default 100,000)");
  v.Field("seeds", seeds, "seeds of trainings and tests: [0, 1, 2] or \"0:3\"; a single one: [3]");
  v.Field("max_train_graphs",
          max_train_graphs,
          AtLeast(0),
          "number of training graphs of each family; 0: all");
  v.Field("max_test_graphs",
          max_test_graphs,
          AtLeast(0),
          "number of unseen graphs of each family; 0: all");
  v.Field("jobs", jobs, AtLeast(0), "trainings or tests at a time; 0: one per core");
  v.Field("output", output, "HDF5 file; empty: results/<config name>.h5");
}

void FamilyConfig::Visit(FieldVisitor& v) {
  v.Field("name", name, "name of the family");
  v.Field("cluster", cluster, "cluster for its graphs");
  v.Field("semantics", semantics, SemanticsNames().c_str());
  v.AddedField("priority", priority, "id", "issue order of stream semantics: id or upward_rank");
  v.Field("count_gaps", count_gaps, "the step time counts trailing gaps");
  v.Field("simulate_groups", simulate_groups, "simulate each group as a few ops");
  v.Field("coarsen", coarsen, "coarsening passes, as in a run config");
  v.Field("train", train, "graphs to train on");
  v.Field("test", test, "graphs that are not used in training");
  v.AddedField("train_clusters",
               train_clusters,
               "clusters for the training graphs, in turn, instead of `cluster`");
  v.AddedField("test_clusters",
               test_clusters,
               "clusters for the unseen graphs, in turn, instead of `cluster`");
}

GeneralizePlan ReadGeneralizePlan(const fs::path& path,
                                  const std::vector<std::string>& settings,
                                  const AgentRegistry& registry) {
  const ConfigNode root = ReadWithSettings(path, settings);
  const fs::path beside = path.parent_path();
  GeneralizePlan plan;
  plan.name = path.stem().string();
  plan.config = ReadFields<GeneralizeConfig>(root);
  for (const ConfigNode& family : root.At("families").Elements()) {
    FamilyPlan read = ReadFamily(family, beside, root, plan.config);
    for (const FamilyPlan& other : plan.families) {
      if (other.config.name != read.config.name) continue;
      family.Fail(fmt::format("family \"{}\" is listed twice", read.config.name));
    }
    plan.families.push_back(std::move(read));
  }
  if (plan.families.empty()) root.At("families").Fail("expected at least one family");
  const std::vector<ConfigNode> train = plan.config.train.Elements();
  if (!train.empty()) {
    std::vector<AgentSpec> agents = ParseAgents(plan.config.train, registry, beside, kTrainKeys);
    for (std::size_t i = 0; i < train.size(); ++i) {
      plan.train.push_back(ReadTrain(train[i], std::move(agents[i])));
    }
  }
  const std::vector<ConfigNode> test = root.At("test").Elements();
  std::vector<AgentSpec> agents = ParseAgents(root.At("test"), registry, beside, kTestKeys);
  for (std::size_t i = 0; i < test.size(); ++i) {
    plan.test.push_back(ReadTest(test[i], std::move(agents[i]), plan.train));
  }
  plan.seeds = ParseSeeds(plan.config.seeds);
  return plan;
}

}  // namespace emplace
