#pragma once

// The config of `emplace generalize`: families of graphs, policies to train on some graphs of each
// family, and methods that place the other graphs.
//
//   families: [cifar10, ptb, nmt]                 names of configs/families
//   train:
//     - {name: placeto, label: gnn, training_updates: 200, ...settings}
//   test:
//     - {name: placeto, label: zero_shot, policy: gnn, updates: 0}
//     - {name: random, evaluations: 1}

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/problem/coarsening_passes.h"
#include "experiments/problem/priority.h"
#include "experiments/run/agent_spec.h"
#include "experiments/run/run_config.h"

namespace emplace {

/// The YAML file, key by key.
struct GeneralizeConfig {
  ConfigNode families = ConfigNode::FromString("[]", "default");
  std::string cluster;
  ConfigNode train = ConfigNode::FromString("[]", "default");
  ConfigNode test = ConfigNode::FromString("[]", "default");
  ConfigNode seeds = ConfigNode::FromString("[0]", "default");
  int max_train_graphs = 0, max_test_graphs = 0;
  int jobs = 0;
  std::string output;
  void Visit(FieldVisitor& v);
};

/// A family of graphs, configs/families/NAME.yaml, key by key.
struct FamilyConfig {
  std::string name, cluster;
  std::string semantics = "queue", priority = "id";
  bool count_gaps = false, simulate_groups = false;
  ConfigNode coarsen = ConfigNode::FromString("[colocate]", "default");
  std::vector<std::string> train, test;
  std::vector<std::string> train_clusters, test_clusters;  ///< empty: `cluster`
  void Visit(FieldVisitor& v);
};

/// A family with all names resolved.
struct FamilyPlan {
  FamilyConfig config;
  std::vector<std::filesystem::path> train, test;
  std::vector<std::filesystem::path> train_clusters, test_clusters;  ///< one for each graph
  std::vector<CoarseningPass> passes;
  SimulatorOptions simulator;         ///< without the issue order, which depends on the graph
  Priority priority = Priority::kId;  ///< not kGiven
};

/// An entry of `train`.
struct TrainPlan {
  AgentSpec agent;
  std::int64_t updates = 0;  ///< number of policy updates to make
};

/// An entry of `test`: a method.
struct TestPlan {
  AgentSpec agent;     ///< the settings of the policy's training, then its own
  std::string policy;  ///< label of the training that provides its policy; empty: none
  Budget budget;
};

/// The whole experiment, with all names resolved and all values checked.
struct GeneralizePlan {
  GeneralizeConfig config;
  std::string name;  ///< of the config file, without extension
  std::vector<FamilyPlan> families;
  std::vector<TrainPlan> train;
  std::vector<TestPlan> test;
  std::vector<std::uint64_t> seeds;
};

/// Reads a config.
/// @param settings  values of --set, see ApplySettings()
/// @param registry  must outlive the plan
/// @throws InputError naming file:line:column, key, value, the expected value and the choices
GeneralizePlan ReadGeneralizePlan(const std::filesystem::path& path,
                                  const std::vector<std::string>& settings,
                                  const AgentRegistry& registry);

}  // namespace emplace
