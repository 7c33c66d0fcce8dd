#pragma once

// The cost of an outcome, which a policy gradient minimises.
//
//   R(P) = f(step time [s]),   f = sqrt (ICML 2017, ICLR 2018), log or identity
//
// A placement that does not fit costs f(failing signal [s]), a large constant set by hand in the
// papers. The default is twice the total time of all groups, each on its slowest device. With
// `deficit_weight` w > 0 the signal grows with the missing bytes, so that there is something to
// learn before any placement fits:
//
//   failing signal * (1 + w * missing bytes / bytes of all resident tensors and activations)

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
  /// @param key  key of the settings within those of the agent, for messages: "reward"
  /// @throws SettingError for an unknown transform
  Reward(const RewardConfig& config, const Problem& problem, const std::string& key);
  /// Returns the cost R of a placement.
  double Cost(const Score& score) const;
  /// Returns the cost of a placement that does not fit, without deficit_weight: f(failing signal).
  double failing_cost() const { return Transformed(failing_seconds_); }

 private:
  double Transformed(double seconds) const;

  RewardConfig config_;
  double failing_seconds_ = 0, all_bytes_ = 0;
};

}  // namespace emplace
