#pragma once

// The config of `emplace run`: one problem, several agents, seeds and a budget. `emplace run
// --help-config` prints every key with its default; configs/README.md explains the keys.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/problem/coarsening_passes.h"
#include "experiments/problem/priority.h"
#include "experiments/run/agent_spec.h"
#include "framework/config/fields.h"
#include "framework/plan/plan.h"
#include "framework/search/meter.h"
#include "simulator/simulator.h"

namespace emplace {

/// The YAML file, key by key; Visit() describes each key.
struct RunConfig {
  std::string graph, cluster, split;
  std::string costs = "none";
  std::string semantics = "queue";
  std::string priority = "id";
  std::string issue_order;
  bool count_gaps = false;
  std::optional<int> gpu;
  std::string objective = "step_time";
  ConfigNode coarsen = ConfigNode::FromString("[colocate]", "default");
  bool simulate_groups = false;
  Plan plan;
  ConfigNode agents = ConfigNode::FromString("[]", "default");
  std::string start;
  ConfigNode seeds = ConfigNode::FromString("[0]", "default");
  std::optional<std::int64_t> max_evaluations;  // these three are the map `budget`
  std::optional<double> max_seconds = 30;       // [s]
  std::optional<std::int64_t> max_steps;
  // The reference code of ICLR 2018 measures ten steps after one discarded step.
  int steps_per_measurement = 11;
  int jobs = 0;
  int threads = 0;
  std::string ranks = "auto";
  std::string output;

  void Visit(FieldVisitor& v);
};

/// A RunConfig with all names resolved and all values checked, except the agents' settings.
struct RunPlan {
  RunConfig config;
  std::string name;  ///< of the config file, without extension
  std::filesystem::path graph, cluster;
  std::filesystem::path costs;  ///< empty: none
  SimulatorOptions simulator;   ///< without the issue order, which depends on the problem
  Priority priority = Priority::kId;
  std::filesystem::path issue_order;  ///< placement file, for Priority::kGiven; else empty
  Objective objective = Objective::kStepTime;
  std::vector<CoarseningPass> passes;
  std::vector<AgentSpec> agents;
  std::vector<std::uint64_t> seeds;
  Budget budget;

  /// Divides the cores among concurrent searches, at least one each, unless `threads` is set.
  /// @param cores  0: all cores that this process may use
  void ShareCores(int searches_at_a_time, int cores = 0);
  /// Gives the search this number of cores, unless `threads` is set.
  void UseCores(int cores);
  /// Returns the config with every key (WriteFields()), as stored in the results.
  std::string ResolvedYaml() const;
  /// Returns the config with every key and every setting of the agents, with absolute paths. It
  /// describes the same run from any folder.
  std::string FullYaml() const;
  /// Returns `simulator` with the issue order of a problem: the searched one or the exact one.
  /// @throws InputError as ReadPlacement() does, or if the file has no issue order
  SimulatorOptions SimulatorFor(const Problem& problem) const;
};

/// Reads a config file.
/// @param settings  values of --set, see ApplySettings()
/// @param registry  must outlive the plan
/// @throws InputError naming file:line:column, key, value, the expected value and the choices
RunPlan ReadRunPlan(const std::filesystem::path& path,
                    const std::vector<std::string>& settings,
                    const AgentRegistry& registry);

/// Makes the plan from a config in memory.
/// @param name    name of the plan
/// @param beside  folder in which relative paths are looked up after the current folder
RunPlan MakeRunPlan(const ConfigNode& root,
                    const std::string& name,
                    const std::filesystem::path& beside,
                    const AgentRegistry& registry);

/// Reads a list of seeds: numbers and ranges "first:end" (without the end), or a single range. A
/// single number is refused, because in emplace.run() of the Python package it is the number of
/// seeds.
/// @throws InputError for a negative or repeated seed or an empty list
std::vector<std::uint64_t> ParseSeeds(const ConfigNode& node);

}  // namespace emplace
