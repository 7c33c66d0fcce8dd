#pragma once

// One search over several ranks. Each rank runs the whole search with a DistributedEvaluator around
// an evaluator of its own. A batch is cut into contiguous pieces, one per rank in order; each rank
// evaluates its piece and gets the outcomes of the others, so that all ranks go on with the same
// outcomes in the order of the batch, whatever their number. DISTRIBUTED.md has the cost of it.
//
//   MeteredEvaluator  -> DistributedEvaluator -> Simulator      rank 0
//   MeteredEvaluator  -> DistributedEvaluator -> Simulator      rank 1, the same calls
//
// A batch that takes less time than the messages is evaluated by every rank as a whole: one of less
// than kLeastWork (placements * ops; for the period, which is quicker, placements * groups / 16),
// and one with channels or op times.
//
// Searches abreast: search i is run by rank i mod N, which then hands its state to the others. The
// rank that runs it may end it by its own clock: nobody else runs it.
//
// The ranks meet (lockstep.h) at every batch that is shared out; else before the batch with which
// kWorkBetweenMeetings (5 to 20 ms) has been evaluated, and between two steps of the agent of which
// the earlier one evaluated nothing. So none is told later than that of rank 0's end.

#include <cstdint>

#include "framework/search/evaluator.h"
#include "framework/search/forwarding_evaluator.h"
#include "framework/search/lockstep.h"

namespace emplace {

class DistributedEvaluator final : public ForwardingEvaluator {
 public:
  static constexpr std::uint64_t kLeastWork = 1 << 17;
  static constexpr std::uint64_t kWorkBetweenMeetings = 1 << 20;

  /// @param local  of the same problem and with the same outcomes on each rank. Both outlive this
  /// @param least_work  of a batch that is shared out; changes no outcome
  DistributedEvaluator(Evaluator& local, Lockstep& lockstep, std::uint64_t least_work = kLeastWork);

  /// All of these: @throws BudgetExhausted if rank 0 has ended the search; RunError "ranks diverged
  /// ..." if another rank is asked for something else
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override;
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override;
  /// @param searches  each has `save` and `load`
  void RunAbreast(std::span<const SearchAbreast> searches) override;
  EvaluatorRanks ranks() const override { return {lockstep_.rank(), lockstep_.size()}; }

  /// To be called before each step of the agent. @throws as Evaluate()
  void BetweenSteps();

 private:
  /// Where the piece of a rank begins; that of the rank behind the last one is the end.
  std::size_t PieceBegin(std::size_t size, int rank) const;
  /// Whether a batch is shared out. If not, it is noted. @param alone  it may not be
  bool IsShared(std::size_t size, bool alone = false);
  /// evaluate(first, count) writes this rank's piece into the columns; then those of all are there.
  template <class EvaluatePiece>
  void Share(const Place& place, const OutcomeColumns& outcomes, const EvaluatePiece& evaluate);

  Lockstep& lockstep_;
  const std::uint64_t least_work_;
  std::uint64_t work_ = 0;     // by every rank alone since the last meeting
  bool evaluated_ = false;     // since BetweenSteps()
  std::uint64_t history_ = 0;  // checksum of the batches so far
  // Columns of a batch whose outcomes are wanted as a whole.
  std::vector<Nanos> step_time_, busy_;
  std::vector<std::int64_t> deficit_, peak_;
};

}  // namespace emplace
