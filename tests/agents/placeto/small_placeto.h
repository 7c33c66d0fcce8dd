#pragma once

// Small problems, states and settings for the tests of agent placeto.

#include <memory>
#include <string>
#include <vector>

#include "agents/placeto/placeto_config.h"
#include "framework/search/update_table.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace emplace::testing {

/// Few rounds of narrow vectors.
inline PlacetoConfig SmallPlaceto() {
  PlacetoConfig config;
  config.network.features.devices = "one_hot";
  config.network.width = 6;
  config.network.rounds = 2;
  return config;
}

/// Steps of descent one by one, without any of our additions to the loss.
inline PlacetoConfig PlainPlaceto() {
  PlacetoConfig config = SmallPlaceto();
  config.normalize_advantages = false;
  config.patience = 0;
  config.ppo.epochs = 1;
  config.start = "random";
  return config;
}

/// Groups of about two ops on a CPU and `num_gpus` GPUs.
inline std::shared_ptr<const Problem> SmallProblem(int num_gpus = 2, int num_ops = 16) {
  Rng rng(3);
  return MixedProblem(rng, num_ops, num_gpus, kUnlimitedMemory);
}

/// Some placement, starts, groups visited, and a current group.
inline PlacetoState RandomState(Rng& rng, const Problem& problem) {
  PlacetoState state;
  state.placement = RandomPlacement(rng, problem);
  for (int g = 0; g < problem.num_groups(); ++g) {
    state.start.push_back(UniformInt(rng, 1000));
    state.visited.push_back(UniformInt(rng, 2) == 1);
  }
  state.current = UniformInt(rng, problem.num_groups());
  return state;
}

/// A table's column by name.
inline std::vector<double> Column(const UpdateTable& table, const std::string& name) {
  std::vector<double> column;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c] != name) continue;
    for (std::size_t i = c; i < table.values.size(); i += table.columns.size()) {
      column.push_back(table.values[i]);
    }
  }
  return column;
}

/// A simulator of each problem, as updates want them.
struct Simulators {
  explicit Simulators(const std::vector<std::shared_ptr<const Problem>>& problems) {
    for (const auto& problem : problems) {
      owned.push_back(MakeSimulator(problem, {}));
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<Evaluator>> owned;
  std::vector<Evaluator*> all;
};

}  // namespace emplace::testing
