#pragma once

// Trains the network of `learned_local_search` on any number of graphs and clusters, from the gains
// of moves in the placements that its own search reaches.
//
// Every problem has its own search (ranked_search.h), which ranks moves by the current network. It
// begins with groups that were merged 0 to `merged` times (agents/multilevel/levels.h), each number
// with equal probability, so that the network sees the moves of all levels. An update
//
// - lets each search make `growth` times as many evaluations as it has already made, at least 64. A
//   search restarts after `most_evaluations`: samples come from early and from late placements;
// - draws `samples` moves from the current placement of each search and evaluates them;
// - passes once through all samples of all problems in random order. Each step of the optimizer
//   takes `batch` samples and descends
//
//      sum_i w_i (log(1 + exp(s_i)) - y_i s_i) / n,     y_i = 1 if move i gains, else 0,
//      w_i = (gain_i / 0.002)^gain_exponent if y_i = 1, at most 25, else 1
//
//   where s_i is the network's score. This is logistic regression in which a gain of 0.2 % of the
//   step weighs as much as a move without gain.
//
// Exact gains replace rewards as supervision, as in the imitation of a strong branching rule:
// E. Khalil et al., Learning to Branch in Mixed Integer Programming, AAAI 2016.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "agents/learned_local_search/ranked_search.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "framework/search/policy_trainer.h"

namespace emplace {

/// A row of LearnedLocalSearchTrainer::updates().
struct MoveTrainingRow {
  double samples = 0;      ///< of all problems together
  double gaining = 0;      ///< share of the moves that gain
  double gaining_top = 0;  ///< the same for the best-ranked of each 32 moves before the update
  double loss = 0;         ///< mean, before the update
  double evaluations = 0;  ///< of all searches since the beginning of the training
  UpdateFields Fields() const;
};

class LearnedLocalSearchTrainer final : public PolicyTrainer {
 public:
  /// `policy` has no effect: training begins with random weights.
  /// @throws SettingError
  LearnedLocalSearchTrainer(const TrainerContext& context, const LearnedLocalSearchConfig& config);
  void Step(std::span<Evaluator* const> evaluators) override;
  const UpdateTable& updates() const override { return core_.table(); }
  void SavePolicy(std::ostream& out) override { scorer_->SavePolicy(out); }
  void VisitState(StateVisitor& v) override;

 private:
  struct Search {
    Rng drawn;  // state of the generator before Begin()
    std::shared_ptr<const Problem> level;
    std::unique_ptr<RankedSearch> agent;  // of the level
    Rng samples;                          // draws the samples
    std::int64_t evaluations = 0;         // made since Begin()
  };
  /// Creates the search of a problem from its `drawn`.
  void Begin(int problem);
  RankedSearch::Samples Advance(int problem, Evaluator& evaluator);
  /// Computes the loss of some rows, as above: [1, 1].
  Var Loss(Tape& tape, std::span<const int> rows) const;

  std::vector<std::shared_ptr<const Problem>> problems_;
  LearnedLocalSearchConfig config_;
  int threads_;
  Rng rng_;
  std::shared_ptr<MoveScorer> scorer_;
  LearnerCore core_;
  std::vector<Search> searches_;       // [problems]
  std::int64_t evaluations_ = 0;       // of all searches since the beginning of the training
  Matrix features_, gains_, weights_;  // of the current update: [n, features], [n, 1], [n, 1]
};

}  // namespace emplace
