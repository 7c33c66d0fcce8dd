#pragma once

// What an outcome costs a policy: the signal that a policy gradient minimises.
//
//   R(P) = f(step time [s]),   f = sqrt (ICML 2017 [V]; ICLR 2018 [V]), log or identity
//
// A placement that does not fit costs f(failing signal [s]), a large constant set by hand in the
// papers [V]; here by default twice the time of all groups one after another, each on the device
// where it takes longest [ours]. With `deficit_weight` w > 0 the signal grows with the bytes that
// are missing, so that there is something to learn before anything fits [ours]:
//
//   failing signal * (1 + w * missing bytes / bytes of all resident tensors and activations)
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <string>

#include "framework/config/fields.h"
#include "framework/search/evaluator.h"

namespace emplace {

struct RewardConfig {
  std::string transform = "sqrt";
  double failing_signal = 0;  ///< [s]; 0: twice the time of all groups one after another
  double deficit_weight = 0;
  void Visit(FieldVisitor& v);
};

class Reward {
 public:
  /// @param key  of the settings within the agent's, for messages: "reward"
  /// @throws SettingError for an unknown transform
  Reward(const RewardConfig& config, const Problem& problem, const std::string& key);
  /// R of the outcome's placement.
  double Cost(const Outcome& outcome) const;
  /// What a placement costs that does not fit, without deficit_weight: f(failing signal).
  double failing_cost() const { return Transformed(failing_seconds_); }

 private:
  double Transformed(double seconds) const;

  RewardConfig config_;
  double failing_seconds_ = 0, all_bytes_ = 0;
};

}  // namespace emplace
