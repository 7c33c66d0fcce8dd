#pragma once

// Hill climbing whose moves a network ranks before they are evaluated. The network was trained on
// other graphs and clusters (learned_local_search_trainer.h) to separate moves that gain from those
// that do not, by features of the schedule of the moved groups (agents/shared/move_features.h). The
// network is much cheaper than an evaluation, and most moves of a good placement gain nothing.
//
// A step from placement x evaluates x once more for its schedule and draws `pool` moves. A share
// `windows` of them put a window of the schedule on one device, and a share `lists` place one by
// list scheduling (agents/large_neighborhood/window_proposals.h); all kinds of windows are equally
// likely. The other moves, and replacements of those that would change nothing, come from
// agents/shared/moves.h. If none of the evaluated moves is accepted, the step draws again, up to
// three times.
//
// Moves are ranked by score + `temperature` times Gumbel noise. This draws without
// replacement in proportion to exp(score / temperature). The first `tries` moves are evaluated,
// `batch` at a time, without those evaluated from x before. If the best of a batch is at least as
// good as x, it becomes x, and the rest of the list is applied to the new x. The ranks are then
// slightly outdated, but to draw and rank again after every improvement costs more time than it
// saves (twice the time on 2,000 groups).
//
// The longer no better placement is found, the less the search relies on the network: after s
// evaluations without one, a share explore * s / patience of the moves is tried independently of
// their rank. After `patience` evaluations without a better placement, or about three times the
// number of single-group moves if that is less, the search continues from a perturbation of the
// best placement, as in hill_climb.
//
// Without a network the moves are tried in random order.
//
// References: imitation of a search with features of a graph: A. Paliwal et al., REGAL, ICLR 2020,
// and the first stage of X. Yao et al., DOPPLER, 2025. Ranking changes by a network trained on
// their exact gains is our own.

#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "agents/large_neighborhood/window_proposals.h"
#include "agents/learned_local_search/learned_local_search_config.h"
#include "agents/learned_local_search/move_scorer.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/local_search/perturbed_restarts.h"
#include "agents/shared/move_features.h"
#include "agents/shared/moves.h"

namespace emplace {

class RankedSearch : public LocalSearchAgent {
 public:
  /// @param scorer  nullptr: moves are tried in random order
  /// @throws SettingError for an unknown start or moves without a weight
  RankedSearch(const AgentContext& context,
               const LearnedLocalSearchConfig& config,
               std::shared_ptr<const MoveScorer> scorer);

  /// Moves from the current placement, drawn as in the search, and their gains.
  struct Samples {
    Matrix features;  ///< [count, MoveFeatures::kCount]
    std::vector<double>
        gains;  ///< [count] share of the step time; 1 for less memory missing, -1 for more
  };
  /// Draws and evaluates samples; `rng` may be separate from the search's. @pre a step was made
  Samples Sample(int count, Evaluator& evaluator, Rng& rng);

 private:
  void Improve(Evaluator& evaluator) override;
  void Adopted() override;
  void VisitSearch(StateVisitor& v) override;
  void Restart(Evaluator& evaluator);
  /// Evaluates the current placement for its schedule.
  void SetSchedule(Evaluator& evaluator);
  /// Fills pool_ and, with a network, features_. @pre the schedule is that of the current placement
  void Draw(int count, Rng& rng);
  /// Draws a pool and evaluates its best-ranked moves.
  /// @return true if the current placement changed
  bool TryPool(Evaluator& evaluator);
  /// Adds a move to pool_.
  void Propose(Rng& rng);
  /// Returns the moves of the pool, best-ranked first.
  std::vector<int> Ranked();
  /// Returns true if they move any group of the current placement.
  bool Changes(std::span<const Move> moves) const;
  /// Moves to the i-th candidate.
  void MoveTo(std::size_t i);

  LearnedLocalSearchConfig config_;
  MoveProposer proposer_;
  WindowProposer windows_;
  MoveFeatures features_of_;
  std::shared_ptr<const MoveScorer> scorer_;  // nullptr: random order
  PerturbedRestarts restarts_;
  std::int64_t patience_ = 0;  // evaluations
  std::int64_t stale_ = 0;     // evaluations since the current placement last improved
  std::unordered_set<std::uint64_t> tried_;  // hashes of moves from the current placement
  MoveLists pool_;
  Matrix features_;           // [pool, MoveFeatures::kCount]
  NeighborBatch candidates_;  // of one batch
};

}  // namespace emplace
