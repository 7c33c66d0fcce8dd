#pragma once

// One search over several ranks. Each rank runs the whole search with a DistributedEvaluator around
// its own evaluator. A batch is split into contiguous pieces, one per rank in order. Each rank
// evaluates its piece and gets the outcomes of the others. So all ranks continue with the same
// outcomes in the order of the batch, for any number of ranks. DISTRIBUTED.md gives the cost.
//
//   MeteredEvaluator  -> DistributedEvaluator -> Simulator      rank 0
//   MeteredEvaluator  -> DistributedEvaluator -> Simulator      rank 1, the same calls
//
// Every rank evaluates the whole batch if that takes less time than the messages: a batch of less
// than kLeastWork (placements * ops; for the period, which is faster, placements * groups / 16).
// The same holds for a batch with channels or op times.
//
// Concurrent searches: rank i mod N runs search i and then sends its state to the others. That rank
// may end it by its own clock, since no other rank runs it.
//
// The ranks meet (replicated_search.h) at every batch that is split. Otherwise they meet before the
// batch that brings the work since the last meeting to kWorkBetweenMeetings (5 to 20 ms), and after
// a step of the agent that evaluated nothing. So every rank soon learns that rank 0 has ended the
// search.

#include <cstdint>

#include "framework/search/evaluator.h"
#include "framework/search/forwarding_evaluator.h"
#include "framework/search/replicated_search.h"

namespace emplace {

class DistributedEvaluator final : public ForwardingEvaluator {
 public:
  static constexpr std::uint64_t kLeastWork = 1 << 17;
  static constexpr std::uint64_t kWorkBetweenMeetings = 1 << 20;

  /// @param local  of the same problem and with the same outcomes on each rank. Both outlive this
  /// @param least_work  minimum size of a batch that is split; does not change outcomes
  DistributedEvaluator(Evaluator& local,
                       ReplicatedSearch& replicated,
                       std::uint64_t least_work = kLeastWork);

  /// Evaluating functions. @throws BudgetExhausted if rank 0 has ended the search; RunError "ranks
  /// diverged ..." if another rank is at a different call
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override;
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override;
  /// @param searches  each has `save` and `load`
  void RunConcurrently(std::span<const ConcurrentSearch> searches) override;
  EvaluatorRanks ranks() const override { return {replicated_.rank(), replicated_.size()}; }

  /// Call this before each step of the agent. @throws as Evaluate()
  void BetweenSteps();

 private:
  /// Returns the begin of the piece of a rank; for rank = number of ranks, the end of the batch.
  std::size_t PieceBegin(std::size_t size, int rank) const;
  /// Returns whether a batch is split among the ranks; if not, adds it to the work done alone.
  /// @param alone  the batch may not be split
  bool IsShared(std::size_t size, bool alone = false);
  /// Calls evaluate(first, count), which writes this rank's piece into the columns, and adds the
  /// pieces of all other ranks.
  template <class EvaluatePiece>
  void Share(const Place& place, const OutcomeColumns& outcomes, const EvaluatePiece& evaluate);

  ReplicatedSearch& replicated_;
  const std::uint64_t least_work_;
  std::uint64_t work_ = 0;     // done by every rank alone since the last meeting
  bool evaluated_ = false;     // since BetweenSteps()
  std::uint64_t history_ = 0;  // checksum of the batches so far
  // Columns of a batch for callers that want whole outcomes.
  std::vector<Nanos> step_time_, busy_;
  std::vector<std::int64_t> deficit_, peak_;
};

}  // namespace emplace
