#pragma once

// What searches have in common that go from placement to placement and keep the best: how they
// begin, what they note, what is saved, and how one goes on from what another has found. They ask
// for step times and missing memory alone, and for many neighbours of one placement in one call,
// which is what evaluators are fastest at.

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

/// A placement and what searches compare of its outcome.
struct ScoredPlacement {
  Placement placement;
  Score score;
};

/// Whether a placement is at most a share `slack` slower than another, and lacks no more memory.
bool Within(const Score& score, const Score& other, double slack);

/// Neighbours of a placement, as moves, with their scores. Memory is kept from batch to batch.
class NeighborBatch {
 public:
  /// To be filled with neighbours, before Evaluate().
  MoveLists& moves() { return moves_; }
  const MoveLists& moves() const { return moves_; }
  void Evaluate(const Placement& base, Evaluator& evaluator);

  // After Evaluate().
  std::size_t size() const { return moves_.size(); }
  Score score(std::size_t i) const { return {deficit_[i], step_time_[i]}; }
  /// The first of the best. @pre size() > 0
  std::size_t IndexOfBest() const;
  /// Makes `at`, whose placement is the base, the i-th neighbour.
  void MoveTo(std::size_t i, ScoredPlacement& at) const;

 private:
  MoveLists moves_;
  std::vector<Nanos> step_time_;
  std::vector<std::int64_t> deficit_;
};

/// The first step evaluates the placements that `start` names, and begins at the best of them;
/// every further one is a unit of the derived search. Without starts the first step is a unit of
/// search, too, which makes a placement of its own. Ends only when no group has a choice.
class ImprovementAgent : public Agent {
 public:
  /// @param name   of the agent in the registry; its saved state begins with it
  /// @param start  names of starts/starts.h
  /// @throws SettingError for an unknown start
  ImprovementAgent(std::string name, const AgentContext& context, std::vector<std::string> start);
  /// Without starts.
  ImprovementAgent(std::string name, const AgentContext& context);
  void Step(Evaluator& evaluator) final;
  bool Finished() const override { return started_ && !any_choice_; }
  void VisitState(StateVisitor& v) final;

  /// The best placement so far. @pre a step was made, or a placement adopted
  const ScoredPlacement& best() const { return best_; }
  /// Goes on from a placement found elsewhere if that is better than the best one. Before the first
  /// step it takes the place of the starts, whatever it is.
  void Adopt(const ScoredPlacement& found);

 protected:
  /// The search begins at current(), if there are starts.
  /// @param starts  all that were evaluated
  virtual void Begin(const std::vector<ScoredPlacement>&) {}
  /// One unit of search; some group has a choice.
  virtual void Improve(Evaluator& evaluator) = 0;
  /// best() was found elsewhere. The search goes on from it.
  virtual void Adopted() { current_ = best_; }
  /// What the derived search knows besides generator, current and best placement.
  virtual void VisitSearch(StateVisitor& v) = 0;

  const Problem& problem() const { return *problem_; }
  Rng& rng() { return rng_; }
  const Interrupt& interrupt() const { return interrupt_; }
  ScoredPlacement& current() { return current_; }
  const ScoredPlacement& current() const { return current_; }
  /// Keeps a placement if it is the best. @return whether it is
  bool Note(const ScoredPlacement& found);
  /// The same for the best of a batch of neighbours of `base`.
  bool NoteBestOf(const NeighborBatch& batch, const Placement& base);

 private:
  std::string name_;
  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;  // ends the construction of starts
  std::vector<std::string> start_;
  Rng rng_;
  bool any_choice_ = false, started_ = false;
  ScoredPlacement current_, best_{{}, {INT64_MAX, kMaxNanos}};
};

void VisitScored(StateVisitor& v, ScoredPlacement& scored);

}  // namespace emplace
