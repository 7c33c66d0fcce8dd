#pragma once

// A policy without a network (Post, NeurIPS 2018). Each group with a choice has its own categorical
// distribution over its allowed devices: the softmax of free parameters u [M, D], which are 0 at
// first. A group with one allowed device is not a decision. A forbidden device is never drawn and
// is not part of a distribution.

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
  /// @param sharing  strength with which neighbours learn together (sharing.h), not in the paper;
  ///   0: the parameter is u itself, as published
  PostPolicy(const Problem& problem, ParameterSet& parameters, double sharing);
  /// Changes the strength of sharing, which was above 0, and keeps the distributions.
  void SetSharing(double strength);
  int num_decisions() const { return static_cast<int>(group_.size()); }
  /// Makes all allowed devices of a group equally likely.
  void MakeUniform() { logits_.value.setZero(); }
  /// Gives each device of the placement this probability; the other allowed devices share the rest
  /// evenly.
  void MakeNear(const Placement& placement, double probability);

  /// Returns log f_m(j) [num_decisions, num_devices], -infinity for a forbidden device.
  Var LogProbabilities(Tape& tape) const;
  /// Draws group by group, placement after placement.
  /// @param log_probabilities  values of LogProbabilities()
  /// @throws RunError if they are not numbers
  std::vector<Placement> Sample(const Matrix& log_probabilities, int count, Rng& rng) const;
  /// Returns the most likely placement, with the first of equally likely devices.
  Placement Mode(const Matrix& log_probabilities) const;
  /// Returns log f_m(d_m(n)) of placements n: [num_decisions, placements].
  Var LogProbability(Tape& tape,
                     Var log_probabilities,
                     std::span<const Placement> placements) const;
  /// Returns the entropy, mean over the decisions [nats].
  double MeanEntropy() const;

  /// Minimises the cross-entropy to the elites in closed form. The result is mixed with the old
  /// distribution and with the uniform one over the |A_m| allowed devices:
  ///
  ///   P_m(j) = #{elites n: d_m(n) = j} / #elites
  ///   f_m(j) <- (1 - epsilon) (step P_m(j) + (1 - step) f_m(j)) + epsilon / |A_m|
  ///
  /// and u = log f.
  /// @param elites  at least one
  /// @param step  1: as published
  void MinimizeCrossEntropy(std::span<const Placement* const> elites, double epsilon, double step);

 private:
  Var Logits(Tape& tape) const;
  /// Sets u = log f where allowed. f counts as at least 1e-8, so that u is finite.
  void SetProbabilities(const Eigen::MatrixXd& f);
  std::vector<int> DevicesOf(const Placement& placement) const;

  std::vector<int> group_;          // [num_decisions]
  Placement only_;                  // devices of the groups without a choice
  Matrix allowed_;                  // [num_decisions, num_devices] 0 or 1
  std::optional<Sharing> sharing_;  // empty: none
  Parameter& logits_;
};

}  // namespace emplace
