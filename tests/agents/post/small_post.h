#pragma once

// What tests of PostAgent share: plain settings, and a look into states.

#include <cstdint>
#include <string>
#include <vector>

#include "agents/post/post_agent.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "tests/support/learning_agents.h"
#include "tests/support/states.h"

namespace emplace::testing {

inline const std::vector<std::string> kMethods = {"joint", "ce_only", "ppo_only"};

/// K = 4, N = 12, plain descent, nothing beyond the paper.
inline PostConfig SmallConfig() {
  PostConfig config;
  config.normalize_advantages = false;
  config.sharing = 0;
  config.patience = 0;
  config.return_probability = 0;
  config.cross_entropy.step = 1;
  config.cross_entropy.keep_elites = false;
  config.cross_entropy.mode = false;
  config.cross_entropy.epsilon = 0.5;
  config.ppo_samples = 4;
  config.cross_entropy.samples = 12;
  config.cross_entropy.elite_share = 0.25;
  config.cross_entropy.epsilon_samples = 100;
  config.optimizer.method = "sgd";
  config.optimizer.clip_norm = 0;
  return config;
}

/// The logits in a saved state.
inline Matrix Logits(const std::string& state, const Problem& problem, const PostConfig& config) {
  ParameterSet parameters;
  const PostPolicy policy(problem, parameters, 0);
  Optimizer optimizer(config.optimizer, parameters, "optimizer");
  ReadState(state, [&](StateVisitor& v) {
    Rng rng;
    bool finished = false, from_nothing = false;
    std::int64_t shared_at = 0;
    v.Begin("post", problem);
    v.Flag(finished);
    v.Generator(rng);
    v.Flag(from_nothing);
    v.Count("a number of placements", shared_at);
    VisitLearner(v, parameters, optimizer);
  });
  return parameters.all()[0].value;
}

}  // namespace emplace::testing
