#pragma once

// Settings of the agent placeto. The defaults are the preset `tuned`.
// configs/agents/placeto_paper.yaml has the published settings and says at each key whether the
// value is known.

#include <optional>
#include <string>
#include <vector>

#include "agents/placeto/episode.h"
#include "agents/placeto/placeto_network.h"
#include "agents/shared/policy_gradient/ppo.h"
#include "framework/learn/optimizer.h"

namespace emplace {

struct PlacetoConfig {
  PlacetoConfig();
  PlacetoNetworkConfig network;
  EpisodeConfig episode;
  std::vector<std::string> start = {"none"};
  int parts = 2, part_patience = 20;
  int episodes = 1;
  int baseline_episodes = 10;
  std::string advantage = "difference";
  bool normalize_advantages = true;
  double entropy_weight = 0.05, entropy_final = 0.05;
  double entropy_share = 1;
  double move_share = 0.07;
  int stays = 20;
  double imitation_weight = 0;
  int patience = 150;
  std::vector<std::string> restart = {"single", "random"};
  PpoConfig ppo;
  OptimizerConfig optimizer;
  int greedy_every = 0;
  std::string policy;
  bool learn = true;
  std::optional<int> updates;
  void Visit(FieldVisitor& v);
};

}  // namespace emplace
