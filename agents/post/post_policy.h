#pragma once

// A policy without a network: every group with a choice has a categorical distribution of its own
// over its allowed devices, the softmax of free parameters u [M, D], at first 0 (Post, NeurIPS 2018
// [V]). A group with one allowed device is no decision; a forbidden device is never drawn, and
// counts in no distribution.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <optional>
#include <span>
#include <vector>

#include "agents/post/sharing.h"
#include "framework/base/random.h"
#include "framework/learn/parameter.h"
#include "framework/learn/tape.h"
#include "framework/search/problem.h"

namespace emplace {

class PostPolicy {
 public:
  /// Adds the parameter "logits" [num_decisions, num_devices].
  /// @param problem, parameters  outlive this
  /// @param sharing  strength with which neighbours learn together, sharing.h [ours]; 0: the
  ///   parameter is u itself, as published
  PostPolicy(const Problem& problem, ParameterSet& parameters, double sharing);
  int num_decisions() const { return static_cast<int>(group_.size()); }
  /// Every allowed device as likely as the others.
  void MakeUniform() { logits_.value.setZero(); }
  /// The placement's devices get a probability each, the other allowed ones share the rest evenly.
  void MakeNear(const Placement& placement, double probability);

  /// log f_m(j): -infinity for a forbidden device. @return [num_decisions, num_devices]
  Var LogProbabilities(Tape& tape) const;
  /// Draws group by group, placement after placement.
  /// @param log_probabilities  values of LogProbabilities()
  /// @throws RunError if they are not numbers
  std::vector<Placement> Sample(const Matrix& log_probabilities, int count, Rng& rng) const;
  /// The most likely placement; the first device of those that are equally likely.
  Placement Mode(const Matrix& log_probabilities) const;
  /// log f_m(d_m(n)) of placements n. @return [num_decisions, placements]
  Var LogProbability(Tape& tape,
                     Var log_probabilities,
                     std::span<const Placement> placements) const;
  /// Entropy, mean over the decisions [nats].
  double MeanEntropy() const;

  /// The minimum of the cross-entropy to the elites in closed form [V], mixed with what was and
  /// with the uniform distribution over the |A_m| allowed devices:
  ///
  ///   P_m(j) = #{elites n: d_m(n) = j} / #elites
  ///   f_m(j) <- (1 - epsilon) (step P_m(j) + (1 - step) f_m(j)) + epsilon / |A_m|
  ///
  /// and u = log f.
  /// @param elites  at least one    @param step  1: as published [V]
  void MinimizeCrossEntropy(std::span<const Placement* const> elites, double epsilon, double step);

 private:
  Var Logits(Tape& tape) const;
  /// u = log f where allowed; f counts as at least 1e-8 to stay finite [ours].
  void SetProbabilities(const Eigen::MatrixXd& f);
  std::vector<int> DevicesOf(const Placement& placement) const;

  std::vector<int> group_;          // [num_decisions]
  Placement only_;                  // where groups without a choice are
  Matrix allowed_;                  // [num_decisions, num_devices] 0 or 1
  std::optional<Sharing> sharing_;  // empty: none
  Parameter& logits_;
};

}  // namespace emplace
