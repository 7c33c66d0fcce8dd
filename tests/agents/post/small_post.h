#pragma once

// What tests of PostAgent share: a small problem, plain settings, and a look into tables and
// states.

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/policy_gradient/learner_state.h"
#include "agents/post/post_agent.h"
#include "tests/support/agent_contract.h"

namespace emplace::testing {

inline const std::vector<std::string> kMethods = {"joint", "ce_only", "ppo_only"};

inline std::shared_ptr<const Problem> SmallProblem(std::int64_t memory = kUnlimitedMemory) {
  Rng rng(3);
  return MixedProblem(rng, 16, 2, memory);
}

/// K = 4, N = 12, plain descent, nothing beyond the paper.
inline PostConfig SmallConfig() {
  PostConfig config;
  config.normalize_advantages = false;
  config.sharing = 0;
  config.patience = 0;
  config.cross_entropy.step = 1;
  config.cross_entropy.keep_elites = false;
  config.cross_entropy.epsilon = 0.5;
  config.ppo.kl_target = 0.03;
  config.ppo_samples = 4;
  config.cross_entropy.samples = 12;
  config.cross_entropy.elite_share = 0.25;
  config.cross_entropy.epsilon_samples = 100;
  config.optimizer.method = "sgd";
  config.optimizer.clip_norm = 0;
  return config;
}

inline double Cell(const UpdateTable& table, std::int64_t row, const std::string& name) {
  const auto column = std::find(table.columns.begin(), table.columns.end(), name);
  REQUIRE(column != table.columns.end());
  return table.values[row * std::ssize(table.columns) + (column - table.columns.begin())];
}

inline std::vector<double> Column(const UpdateTable& table, const std::string& name) {
  std::vector<double> column;
  for (std::int64_t row = 0; row < table.num_rows(); ++row)
    column.push_back(Cell(table, row, name));
  return column;
}

inline std::string Saved(const Agent& agent) {
  std::ostringstream out;
  agent.Save(out);
  return out.str();
}

/// The logits in a saved state.
inline Matrix Logits(const std::string& state, const Problem& problem, const PostConfig& config) {
  std::istringstream in(state);
  StateReader reader(in, "post", problem);
  Rng rng;
  reader.Int("finished");
  reader.Generator(rng);
  ParameterSet parameters;
  const PostPolicy policy(problem, parameters, 0);
  Optimizer optimizer(config.optimizer, parameters, "optimizer");
  LoadLearner(reader, parameters, optimizer);
  return parameters.all()[0].value;
}

}  // namespace emplace::testing
