#pragma once

// One problem's part of an update by policy gradient. It computes the loss of the first step from
// the sampled placements and their outcomes, and with PPO the losses of the further steps.
// policy_loss.h has the losses themselves.
//
//   const Var first = part.FirstLoss(tape, sample, placements, scores, update);
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

  /// Passes the scores to signal() and computes the loss of the first step.
  /// @param sample  of the K placements; with `decisions` if ppo.epochs > 1
  /// @param placements, scores  [K]
  /// @param update  number of updates before this one since the last restart
  /// @return [1, 1]
  Var FirstLoss(Tape& tape,
                const PolicySample& sample,
                std::span<const Placement> placements,
                std::span<const Score> scores,
                std::int64_t update);
  /// Computes the loss of a further step.
  /// @param scored  the placements of FirstLoss under the current policy, with `decisions`
  /// @return [1, 1]
  Var NextLoss(Tape& tape, const PolicySample& scored, const Ppo& ppo, std::int64_t update);

  /// Sets the factor of the weight of the entropy bonus in the losses that follow.
  void set_entropy_factor(double factor) { entropy_factor_ = factor; }

  LearningSignal& signal() { return signal_; }
  const LearningSignal& signal() const { return signal_; }

  // Results of the last update.
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
