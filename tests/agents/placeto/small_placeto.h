#pragma once

// Small states and settings for the tests of agent placeto.

#include <string>

#include "agents/placeto/placeto_learner.h"
#include "tests/support/learning_agents.h"
#include "tests/support/states.h"

namespace emplace::testing {

/// Few rounds of narrow vectors, episodes of groups only.
inline PlacetoConfig SmallPlaceto() {
  PlacetoConfig config;
  config.network.features.devices = "one_hot";
  config.network.width = 6;
  config.network.rounds = 2;
  config.parts = 0;
  return config;
}

/// Steps of descent one by one, without any of our additions to the loss.
inline PlacetoConfig PlainPlaceto() {
  PlacetoConfig config = SmallPlaceto();
  config.normalize_advantages = false;
  config.patience = 0;
  config.move_share = 0;
  config.stays = 0;
  config.ppo.epochs = 1;
  config.episode.begin = "fixed";
  return config;
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

inline std::string Saved(PlacetoLearner& learner, const ProblemList& problems) {
  return WrittenState([&](StateVisitor& v) {
    v.Begin("placeto", Problems(problems));
    learner.VisitState(v);
  });
}

inline void Load(PlacetoLearner& learner, const ProblemList& problems, const std::string& state) {
  ReadState(state, [&](StateVisitor& v) {
    v.Begin("placeto", Problems(problems));
    learner.VisitState(v);
  });
}

}  // namespace emplace::testing
