#pragma once

// What `emplace run` reads: one problem, several agents, seeds and a budget.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/agent_spec.h"
#include "experiments/passes.h"
#include "framework/config/fields.h"
#include "framework/search/meter.h"
#include "simulator/simulator.h"

namespace emplace {

/// The YAML file, key by key.
struct RunConfig {
  std::string graph, cluster;
  std::string costs = "none";
  std::string semantics = "queue";
  bool count_gaps = false;
  std::string objective = "step_time";
  ConfigNode coarsen = ConfigNode::FromString("[colocate]", "default");
  bool contracted = false;
  ConfigNode agents = ConfigNode::FromString("[]", "default");
  ConfigNode seeds = ConfigNode::FromString("[0]", "default");
  std::int64_t max_evaluations = 0;
  double max_seconds = 30;
  std::int64_t max_steps = 0;
  int steps_per_measurement = 11;  // [V] reference code of ICLR 2018: 10 runs after one discarded
  int jobs = 0;
  std::string output;

  void Visit(FieldVisitor& v);
};

/// A RunConfig with everything looked up and checked.
struct RunPlan {
  RunConfig config;
  std::string name;  ///< of the config file, without extension
  std::filesystem::path graph, cluster;
  std::filesystem::path costs;  ///< empty: none
  SimulatorOptions simulator;
  Objective objective = Objective::kStepTime;
  std::vector<Pass> passes;
  std::vector<AgentSpec> agents;
  std::vector<std::uint64_t> seeds;
  Budget budget;

  std::string ResolvedYaml() const;
};

/// @param settings  "key=value" texts that replace or add keys of the file
/// @param registry  outlives the plan
/// @throws InputError naming file:line:column, key, value, what was expected and the choices
RunPlan ReadRunPlan(const std::filesystem::path& path,
                    const std::vector<std::string>& settings,
                    const AgentRegistry& registry);

/// The same from a config in memory. @param name  of the plan   @param beside  for relative paths
RunPlan MakeRunPlan(const ConfigNode& root,
                    const std::string& name,
                    const std::filesystem::path& beside,
                    const AgentRegistry& registry);

/// The file with "key=value" texts that replace or add keys. @throws InputError
ConfigNode ReadWithSettings(const std::filesystem::path& path,
                            const std::vector<std::string>& settings);

/// A list of seeds: numbers and ranges "first:end" (without the end), or one of these alone.
/// @throws InputError for a negative or repeated seed or an empty list
std::vector<std::uint64_t> ParseSeeds(const ConfigNode& node);

}  // namespace emplace
