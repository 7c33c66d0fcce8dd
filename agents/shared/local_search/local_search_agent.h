#pragma once

// Base of the searches that move from placement to placement and keep the best: their start, the
// best placement, the saved state, and the adoption of a placement found by another search. They
// request only step times and missing memory, for many neighbours of one placement in one call,
// which is the fastest use of an evaluator.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/base/time.h"
#include "framework/search/agent.h"
#include "framework/search/outcome_table.h"
#include "framework/search/state.h"

namespace emplace {

/// A placement and its score.
struct ScoredPlacement {
  Placement placement;
  Score score;
};

/// Returns whether a placement lacks less memory than another, or lacks as much and is at most a
/// share `slack` slower.
bool Within(const Score& score, const Score& other, double slack);

/// Neighbours of a placement, as moves, with their scores. The memory is reused for every batch.
class NeighborBatch {
 public:
  /// Returns the lists to fill with neighbours before Evaluate().
  MoveLists& moves() { return moves_; }
  const MoveLists& moves() const { return moves_; }
  void Evaluate(const Placement& base, Evaluator& evaluator);

  // After Evaluate().
  std::size_t size() const { return moves_.size(); }
  Score score(std::size_t i) const { return {deficit_[i], step_time_[i]}; }
  /// Returns the index of the best neighbour, the first of equals. @pre size() > 0
  std::size_t IndexOfBest() const;
  /// Turns `at`, whose placement is the base, into the i-th neighbour.
  void MoveTo(std::size_t i, ScoredPlacement& at) const;

 private:
  MoveLists moves_;
  std::vector<Nanos> step_time_;
  std::vector<std::int64_t> deficit_;
};

/// The first step evaluates the placements named by `start` and begins at the best of them. Every
/// later step is a unit of the derived search. Without starts, the first step is a unit of the
/// derived search, too, which makes its own placement. Finished only if no group has a choice.
class LocalSearchAgent : public Agent {
 public:
  /// @param name   name of the agent in the registry; the saved state begins with it
  /// @param start  names defined in starts/starts.h
  /// @throws SettingError for an unknown start
  LocalSearchAgent(std::string name, const AgentContext& context, std::vector<std::string> start);
  /// Constructs a search without starts.
  LocalSearchAgent(std::string name, const AgentContext& context);
  void Step(Evaluator& evaluator) final;
  bool Finished() const override { return started_ && !any_choice_; }
  void VisitState(StateVisitor& v) final;

  /// Returns the best placement so far. @pre a step was made, or a placement adopted
  const ScoredPlacement& best() const { return best_; }
  /// Continues from a placement found by another search if it is better than the best one. Before
  /// the first step, the placement is always adopted and replaces the starts.
  void Adopt(const ScoredPlacement& found);

 protected:
  /// Called when the search begins; current() is set if there are starts.
  /// @param starts  all starts that were evaluated
  virtual void Begin(const std::vector<ScoredPlacement>&) {}
  /// Runs one unit of search. @pre some group has a choice
  virtual void Improve(Evaluator& evaluator) = 0;
  /// Called when best() was found by another search. The search continues from it.
  virtual void Adopted() { current_ = best_; }
  /// Visits the state of the derived search, except the generator and the current and best
  /// placement.
  virtual void VisitSearch(StateVisitor& v) = 0;

  const Problem& problem() const { return *problem_; }
  Rng& rng() { return rng_; }
  const Interrupt& interrupt() const { return interrupt_; }
  ScoredPlacement& current() { return current_; }
  const ScoredPlacement& current() const { return current_; }
  /// Stores a placement if it is better than the best. @return whether it was stored
  bool Note(const ScoredPlacement& found);
  /// Does the same for the best of a batch of neighbours of `base`.
  bool NoteBestOf(const NeighborBatch& batch, const Placement& base);

 private:
  std::string name_;
  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;  // ends the construction of starts early
  std::vector<std::string> start_;
  Rng rng_;
  bool any_choice_ = false, started_ = false;
  ScoredPlacement current_, best_{{}, {INT64_MAX, kMaxNanos}};
};

void VisitScored(StateVisitor& v, ScoredPlacement& scored);

}  // namespace emplace
