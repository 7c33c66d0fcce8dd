#pragma once

#include <string>
#include <vector>

#include "agents/shared/policy_gradient/baseline.h"
#include "agents/shared/policy_gradient/entropy_control.h"
#include "agents/shared/policy_gradient/ppo.h"
#include "agents/shared/policy_gradient/reward.h"
#include "framework/learn/optimizer.h"

namespace emplace {

/// Starts of a search, described in policy_gradient.h.
struct StartConfig {
  std::vector<std::string> names = {"none"};  ///< of agents/initial_placements/initial_placements.h
  double probability = 0.9;                   ///< to pull to: geometric mean per decision
  int steps = 400;                            ///< maximum number of steps of descent
  double fresh_share = 1;                     ///< of the budget; later restarts are at the best
  double settle_share = 0;                    ///< of the budget, at its end; 0: never settles
  /// Visits the fields as settings of the agent: "start", "start_probability", ...
  void Visit(FieldVisitor& v);
};

/// Settings, described in policy_gradient.h.
struct PolicyGradientConfig {
  int samples = 8;
  RewardConfig reward;
  BaselineConfig baseline;
  bool normalize_advantages = false;
  bool per_decision = false;
  int valid_only_after = 0;  ///< updates; 0: every placement always counts
  double entropy_weight = 0;
  int entropy_updates = 0;  ///< the weight falls linearly to 0 over these; 0: constant
  double imitation_weight = 0;
  int patience = 0;  ///< updates without a better placement before a restart; 0: never restarts
  OptimizerConfig optimizer;
  /// Visited, as group "ppo", only by agents that can score placements again. 1 epoch: the plain
  /// policy gradient.
  PpoConfig ppo = {.epochs = 1};
  /// Visited only by agents that can score a given placement.
  StartConfig start;
  /// Visited only by agents that plan their entropy.
  EntropyControlConfig entropy_control;
  /// Visited only by agents that have controllers.
  int controllers = 1;
  /// Visits all fields but the last four as settings of the agent itself, without a map of their
  /// own: "samples", "reward", ...
  void Visit(FieldVisitor& v);
  /// Visits the group "entropy_control".
  void VisitEntropyControl(FieldVisitor& v);
  /// @throws SettingError for a single sample with the baseline leave_one_out
  void Validate() const;
};

}  // namespace emplace
