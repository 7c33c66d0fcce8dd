#pragma once

// How the network of `learned` is trained, on any number of graphs and clusters: by the gains of
// moves in the placements that its own search comes to.
//
// Every problem has a search of its own (ranked_search.h), which ranks moves by the network as it
// is. It begins with groups that were merged 0 to `merged` times (../multilevel/levels.h), each as
// likely, so that the network sees the moves of all levels. An update
//
//   - lets each search make `growth` times as many evaluations as it has made, 64 or more, and
//     begin anew after `most_evaluations`: samples come from early and from late placements;
//   - draws `samples` moves from where each search is, and evaluates them;
//   - goes through all samples of all problems once, in random order, `batch` of them per step of
//     the optimizer, down
//
//       sum_i w_i (log(1 + exp(s_i)) - y_i s_i) / n,     y_i = 1 if move i gains, else 0,
//       w_i = (gain_i / 0.002)^gain_exponent if y_i = 1, at most 25, else 1
//
//     with s_i the network's score: logistic regression, in which a gain of 0.2 % of the step
//     counts as much as a move without gain.
//
// Supervision by exact gains takes the place of rewards, as in imitation of a strong branching rule
// (E. Khalil et al., Learning to Branch in Mixed Integer Programming, AAAI 2016 [R]).

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "agents/learned/ranked_search.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "framework/search/policy_trainer.h"

namespace emplace {

/// A row of LearnedTrainer::updates().
struct MoveTrainingRow {
  double samples = 0;      ///< all problems together
  double gaining = 0;      ///< share of the moves that gain
  double gaining_top = 0;  ///< of the best-ranked move of each 32 before the update
  double loss = 0;         ///< mean, before the update
  double evaluations = 0;  ///< of all searches since the training began
  UpdateFields Fields() const;
};

class LearnedTrainer final : public PolicyTrainer {
 public:
  /// `policy` has no effect: training begins with random weights.
  /// @throws SettingError
  LearnedTrainer(const TrainerContext& context, const LearnedConfig& config);
  void Step(std::span<Evaluator* const> evaluators) override;
  const UpdateTable& updates() const override { return core_.table(); }
  void SavePolicy(std::ostream& out) override { scorer_->SavePolicy(out); }
  void VisitState(StateVisitor& v) override;

 private:
  struct Search {
    Rng drawn;  // what Begin() drew from
    std::shared_ptr<const Problem> level;
    std::unique_ptr<RankedSearch> agent;  // of the level
    Rng samples;                          // draws them
    std::int64_t evaluations = 0;         // that it has made since it began
  };
  /// Makes the search of a problem from its `drawn`.
  void Begin(int problem);
  RankedSearch::Samples Advance(int problem, Evaluator& evaluator);
  /// Loss of some rows, as above. @return [1, 1]
  Var Loss(Tape& tape, std::span<const int> rows) const;

  std::vector<std::shared_ptr<const Problem>> problems_;
  LearnedConfig config_;
  int threads_;
  Rng rng_;
  std::shared_ptr<MoveScorer> scorer_;
  LearnerCore core_;
  std::vector<Search> searches_;       // [problems]
  std::int64_t evaluations_ = 0;       // of all searches since the training began
  Matrix features_, gains_, weights_;  // of the update at hand: [n, features], [n, 1], [n, 1]
};

}  // namespace emplace
