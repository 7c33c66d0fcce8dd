#pragma once

// The losses of policy_gradient.h: the surrogate of the policy gradient or of PPO, and the terms
// that both have. Log-probabilities, entropies and surrogates are sums over a placement's
// decisions; with `per_decision` they are divided by the number of decisions.

#include <optional>
#include <vector>

#include "agents/shared/policy_gradient/policy_gradient_config.h"
#include "framework/learn/tape.h"

namespace emplace {

/// Probabilities and entropy of a policy for the K placements of an update.
struct PolicySample {
  Var log_probability;  ///< [K, 1] of the sampled placements
  Var entropy;          ///< [1, 1] sum over a placement's decisions, mean over the samples
  std::optional<Var> best_log_probability;  ///< [1, 1] of the placement to imitate, if any
  int num_decisions = 1;                    ///< of one placement
  /// The same for each decision, for PPO.
  struct Decisions {
    Var log_probability;      ///< [n, 1] of the choices made
    Var log_distribution;     ///< [n, D] of all choices
    std::vector<int> sample;  ///< [n] placement of each, 0 .. K - 1
  };
  std::optional<Decisions> decisions = {};
};

/// Probabilities of each decision under the policy that sampled the placements.
struct DrawnDecisions {
  DrawnDecisions() = default;
  DrawnDecisions(const Tape& tape, const PolicySample::Decisions& decisions);
  Matrix log_probability, log_distribution;  ///< [n, 1], [n, D]
};

/// Returns sum_i w_i log p(P_i).
/// @param weights  [K, 1] of LearningSignal::Take
Var GradientSurrogate(Tape& tape,
                      const PolicyGradientConfig& config,
                      const PolicySample& sample,
                      const Matrix& weights);

/// Returns sum_i w_i sum_t r_it, where r_it is the ratio of the new to the old probability of
/// decision t, clipped or with a penalty as in ppo.h. If both policies are equal, its gradient is
/// that of GradientSurrogate().
/// @param kl  set to KL(old || new) per decision, exact for each decision [nats]
Var PpoSurrogate(Tape& tape,
                 const PolicyGradientConfig& config,
                 const Ppo& ppo,
                 const PolicySample& sample,
                 const Matrix& weights,
                 const DrawnDecisions& drawn,
                 double& kl);

/// Returns surrogate - entropy_factor * entropy_weight * entropy - imitation_weight * log
/// p(P_best).
/// @param update  number of updates before this one
/// @param entropy_factor  factor() of an EntropyControl
Var PolicyLoss(Tape& tape,
               const PolicyGradientConfig& config,
               const PolicySample& sample,
               Var surrogate,
               std::int64_t update,
               double entropy_factor = 1);

}  // namespace emplace
