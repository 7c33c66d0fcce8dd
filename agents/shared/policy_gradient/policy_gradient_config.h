#pragma once

#include <string>
#include <vector>

#include "agents/shared/policy_gradient/baseline.h"
#include "agents/shared/policy_gradient/entropy_control.h"
#include "agents/shared/policy_gradient/ppo.h"
#include "agents/shared/policy_gradient/reward.h"
#include "framework/learn/optimizer.h"

namespace emplace {

/// What a search begins from, as policy_gradient.h tells.
struct StartConfig {
  std::vector<std::string> names = {"nothing"};  ///< of agents/starts/starts.h
  double probability = 0.9;                      ///< per decision, geometric mean, to pull to
  int steps = 400;                               ///< of descent at most
  double fresh_share = 1;                        ///< of the budget; later restarts are at the best
  /// Visits its fields into the agent's settings: "start", "start_probability", ...
  void Visit(FieldVisitor& v);
};

/// Settings of policy_gradient.h, which explains them.
struct PolicyGradientConfig {
  int samples = 8;
  RewardConfig reward;
  BaselineConfig baseline;
  bool normalize_advantages = false;
  bool per_decision = false;
  int valid_only_after = 0;  ///< updates; 0: every placement always counts
  double entropy_weight = 0;
  int entropy_updates = 0;  ///< the weight falls linearly to 0 over these; 0: it stays
  double imitation_weight = 0;
  int patience = 0;  ///< updates without a better placement before a restart; 0: never restarts
  OptimizerConfig optimizer;
  /// Only agents that can score placements again visit it, as their group "ppo". 1 epoch: the plain
  /// policy gradient.
  PpoConfig ppo = {.epochs = 1};
  /// Only agents that can score a given placement visit it.
  StartConfig start;
  /// Only agents that plan their entropy visit it.
  EntropyControlConfig entropy_control;
  /// Only agents that have them visit it.
  int controllers = 1;
  /// Visits all but the last three into the agent's settings (no map of its own): "samples",
  /// "reward", ...
  void Visit(FieldVisitor& v);
  /// As group "entropy_control".
  void VisitEntropyControl(FieldVisitor& v);
  /// @throws SettingError for a single sample with the baseline leave_one_out
  void Validate() const;
};

}  // namespace emplace
