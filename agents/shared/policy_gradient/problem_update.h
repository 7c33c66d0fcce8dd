#pragma once

// One problem's part of an update by policy gradient: from the placements that a policy drew and
// their outcomes to the loss of the first step, and with PPO to those of the steps after it. The
// losses themselves: policy_loss.h.
//
//   const Var first = part.FirstLoss(tape, sample, placements, outcomes, update);
//   ... a step ...
//   const Var next = part.NextLoss(tape, sample_of_the_same_placements, ppo, update);

#include <memory>
#include <span>

#include "agents/shared/policy_gradient/learning_signal.h"
#include "agents/shared/policy_gradient/policy_loss.h"

namespace emplace {

class ProblemUpdate {
 public:
  /// @throws SettingError as LearningSignal
  ProblemUpdate(const PolicyGradientConfig& config, std::shared_ptr<const Problem> problem)
      : config_(config), signal_(config, std::move(problem)) {}

  /// Shows the outcomes to signal().
  /// @param sample  of the K placements; with `decisions` if ppo.epochs > 1
  /// @param placements, outcomes  [K]
  /// @param update  updates before this one, since the last restart
  /// @return [1, 1]
  Var FirstLoss(Tape& tape,
                const PolicySample& sample,
                std::span<const Placement> placements,
                std::span<const Outcome> outcomes,
                std::int64_t update);
  /// @param scored  the placements of FirstLoss under the policy of today, with `decisions`
  /// @return [1, 1]
  Var NextLoss(Tape& tape, const PolicySample& scored, const Ppo& ppo, std::int64_t update);

  /// Of the weight of the entropy bonus, in the losses that follow.
  void set_entropy_factor(double factor) { entropy_factor_ = factor; }

  LearningSignal& signal() { return signal_; }
  const LearningSignal& signal() const { return signal_; }

  // Of the last update.
  const LearningSignal::Batch& batch() const { return batch_; }
  double loss() const { return loss_; }        ///< of FirstLoss
  double entropy() const { return entropy_; }  ///< mean per decision [nats]
  double kl() const { return kl_; }            ///< of the last NextLoss, per decision [nats]

 private:
  PolicyGradientConfig config_;
  LearningSignal signal_;
  LearningSignal::Batch batch_;
  DrawnDecisions drawn_;
  double entropy_factor_ = 1;
  double loss_ = 0, entropy_ = 0, kl_ = 0;
};

}  // namespace emplace
