#pragma once

// The learning signal from the scores on one problem: the weight of each placement's
// log-probability in the loss (policy_loss.h), and the best placement so far. A policy that learns
// from several problems has one signal for each problem; baselines and best placements are not
// shared.

#include <memory>
#include <span>

#include "agents/shared/policy_gradient/best_placement.h"
#include "agents/shared/policy_gradient/policy_gradient_config.h"
#include "framework/search/evaluator.h"
#include "framework/search/state.h"

namespace emplace {

class LearningSignal {
 public:
  /// @throws SettingError for a setting of `reward` or `baseline`
  LearningSignal(const PolicyGradientConfig& config, std::shared_ptr<const Problem> problem);

  /// Returns the number of placements to sample: `samples`, or the rest of the budget (at least 1).
  int NumSamples(const Evaluator& evaluator) const;
  /// Returns the best placement so far; nullptr before the first, or without an imitation term.
  const Placement* ToImitate() const;

  struct Batch {
    Matrix weights;        ///< [K, 1] A_i / K', 0 for a placement that does not count
    double mean_cost = 0;  ///< of all K
    double feasible = 0;   ///< share of the K that fit
  };
  /// Updates the best placement and the baseline.
  /// @param placements, scores  [K] of one update
  /// @param update  number of updates before this one since the last restart
  Batch Take(std::span<const Placement> placements,
             std::span<const Score> scores,
             std::int64_t update);

  /// Returns true after `patience` batches without a better placement.
  bool Stale() const { return patience_.Exhausted(); }
  double baseline() const { return baseline_.value(); }
  const BestPlacement& best() const { return best_; }
  /// Returns the step time of the best placement if it fits, else NaN. [ns]
  double best_step_time() const { return best_.step_time(); }
  /// Forgets all scores and makes `known` the best placement.
  void Reset(const BestPlacement& known = {});

  void VisitState(StateVisitor& v);

 private:
  PolicyGradientConfig config_;
  std::shared_ptr<const Problem> problem_;
  Reward reward_;
  Baseline baseline_;
  Patience patience_;  // in updates
  BestPlacement best_;
};

}  // namespace emplace
