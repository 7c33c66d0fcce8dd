#pragma once

// Proximal policy optimisation (Schulman et al. 2017): several steps of descent on one batch of
// placements, kept close to the policy that sampled them. With the ratio r = p_new(x) / p_old(x)
// and A = cost - baseline (A is a cost: descent makes placements above the baseline less likely):
//
//   kl    loss = mean(r A) + beta KL(old || new)
//         beta is doubled after a batch whose final KL exceeds 1.5 times the target, and halved
//         if it is below target / 1.5; it stays within a factor of 1e6 of its initial value
//   clip  loss = mean(max(r A, clamp(r, 1 - clip, 1 + clip) A))

#include <string>

#include "framework/config/fields.h"
#include "framework/learn/tape.h"
#include "framework/search/state.h"

namespace emplace {

struct PpoConfig {
  std::string penalty = "kl";
  int epochs = 10;          ///< steps of descent per batch
  double clip = 0.2;        ///< clip
  double kl_target = 0.03;  ///< kl [nats]
  double kl_weight = 1;     ///< kl: beta at first
  void Visit(FieldVisitor& v);
};

class Ppo {
 public:
  /// @throws SettingError for an unknown penalty
  Ppo(const PpoConfig& config, const std::string& key);
  int epochs() const { return config_.epochs; }
  bool needs_kl() const { return config_.penalty == "kl"; }

  /// @param log_probability  [n, m] under the policy in training
  /// @param old_log_probability  [n, m] under the policy that sampled
  /// @param advantages  [n, m], or one row or column that is broadcast: A in the formulas
  /// @param kl  [1, 1] KL(old || new) [nats]; read if needs_kl(). It must be the KL of a decision
  ///   or of a whole placement, in agreement with `log_probability`
  /// @return [1, 1] the mean over all entries plus the penalty
  Var Loss(Tape& tape,
           Var log_probability,
           const Matrix& old_log_probability,
           const Matrix& advantages,
           Var kl) const;
  /// Adapts beta; does nothing for clip.
  /// @param kl  of the policy after the last epoch of a batch [nats]
  void Observe(double kl);
  double kl_weight() const { return kl_weight_; }
  void VisitState(StateVisitor& v) { v.Double("a weight of the divergence", kl_weight_); }
  /// Resets the weight to the setting `kl_weight`.
  void Reset() { kl_weight_ = config_.kl_weight; }

 private:
  PpoConfig config_;
  double kl_weight_;
};

}  // namespace emplace
