#pragma once

// Hill climbing whose moves a network ranks before they are evaluated. The network was trained on
// other graphs and clusters (learned_trainer.h) to tell moves that gain from those that do not, by
// what the schedule says of the groups that move (move_features.h): it costs much less
// than an evaluation, and most moves of a good placement gain nothing.
//
// A step from placement x evaluates x once more for its schedule, and draws `pool` moves:
//
// - a share `windows` of them put a window of the schedule on one device, a share `lists` place one
//   by list scheduling (../large_neighborhood/window_proposals.h), each kind of window as likely;
// - the others, and those that would move nothing, are of ../common/moves.h.
//
// It ranks them by score + `temperature` times Gumbel noise, which draws without replacement in
// proportion to exp(score / temperature). The first `tries` of them, those evaluated from x before
// left out, are evaluated, `batch` at a time. If the best of a batch is better than x, or as good,
// it becomes x, to which the rest of the list is applied: its ranks are a little out of date, but
// to draw and rank anew after every improvement takes longer than it gains (twice as long on 2,000
// groups). The longer no better placement is found, the less the network is trusted: after s
// evaluations without one a share explore * s / patience of the moves is tried whatever its rank.
// After `patience` evaluations without a better placement, or once three times as many as
// there are moves of single groups, the search goes on from a perturbation of the best one, as
// hill_climb does.
//
// Without a network its moves are tried in random order.
//
// Imitating search with a graph's features is the idea of A. Paliwal et al., REGAL, ICLR 2020, and
// of the first stage of X. Yao et al., DOPPLER, 2025 [R]; ranking changes by a network that saw
// their exact gains is ours.

#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "agents/large_neighborhood/window_proposals.h"
#include "agents/learned/learned_config.h"
#include "agents/learned/move_features.h"
#include "agents/learned/move_scorer.h"
#include "agents/shared/improvement/improvement_agent.h"
#include "agents/shared/improvement/perturbed_restarts.h"
#include "agents/shared/moves.h"

namespace emplace {

class RankedSearch : public ImprovementAgent {
 public:
  /// @param scorer  null: moves are tried in random order
  /// @throws SettingError for an unknown start or moves without a weight
  RankedSearch(const AgentContext& context,
               const LearnedConfig& config,
               std::shared_ptr<const MoveScorer> scorer);

  /// Moves from the current placement, as the search would draw them, and what they gain.
  struct Samples {
    Matrix features;  ///< [count, MoveFeatures::kCount]
    std::vector<double>
        gains;  ///< [count] share of the step time; 1 for less memory missing, -1 for more
  };
  /// Draws from a generator of its own. @pre a step was made
  Samples Sample(int count, Evaluator& evaluator, Rng& rng);

 private:
  void Improve(Evaluator& evaluator) override;
  void Adopted() override;
  void VisitSearch(StateVisitor& v) override;
  void Restart(Evaluator& evaluator);
  /// Fills pool_ and, with a network, features_.
  void Draw(int count, Evaluator& evaluator, Rng& rng);
  /// Adds a move to pool_.
  void Propose(Rng& rng);
  /// The moves of the pool, best-ranked first.
  std::vector<int> Ranked();
  /// Whether they move any group of the current placement.
  bool Changes(std::span<const Move> moves) const;
  /// Goes to the i-th of the candidates.
  void MoveTo(std::size_t i);

  LearnedConfig config_;
  MoveProposer proposer_;
  WindowProposer windows_;
  MoveFeatures features_of_;
  std::shared_ptr<const MoveScorer> scorer_;  // nullptr: none
  PerturbedRestarts restarts_;
  std::int64_t patience_ = 0;  // evaluations
  std::int64_t stale_ = 0;     // evaluations since the current placement last improved
  std::unordered_set<std::uint64_t> tried_;  // moves from the current placement, hashed
  MoveLists pool_;
  Matrix features_;           // [pool, MoveFeatures::kCount]
  NeighborBatch candidates_;  // of one batch
};

}  // namespace emplace
