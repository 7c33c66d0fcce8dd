#pragma once

// A search within a budget: counts and records every evaluation, keeps the best placement, and ends
// the search when a limit is reached.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <vector>

#include "framework/search/evaluator.h"
#include "framework/search/forwarding_evaluator.h"

namespace emplace {

/// Whichever limit is reached first ends a search.
struct Budget {
  std::int64_t evaluations = INT64_MAX;  ///< placements evaluated
  double seconds = 1e18;                 ///< wall-clock time [s]
  std::int64_t steps = INT64_MAX;        ///< calls of Agent::Step; counted by the runner
};

/// Thrown by a metered evaluator when the budget ends within Agent::Step; the evaluations made
/// until then are recorded.
class BudgetExhausted : public std::exception {
 public:
  const char* what() const noexcept override { return "search budget exhausted"; }
};

/// Row of the results' `evaluations` table.
struct EvaluationRecord {
  double wall_seconds = 0;   ///< since the search began [s]
  Nanos step_time = 0;       ///< [ns]
  Nanos best_step_time = 0;  ///< best feasible one so far [ns]; kMaxNanos: none yet
  bool feasible = false;
};

/// An evaluator around another one, with the other's outcomes: counts and records them, keeps the
/// best, and enforces the budget.
class MeteredEvaluator final : public ForwardingEvaluator {
 public:
  /// @param inner  outlives this; gives the same outcome whenever it is asked for a placement
  /// @param cancelled  asked before every batch and within it about every 2^20 ops evaluated (10 ms
  ///   at 10 ns each), but not more often than every 64 placements, which engines evaluate
  ///   together; true ends the search like an exhausted budget
  MeteredEvaluator(Evaluator& inner, const Budget& budget, std::function<bool()> cancelled = {});

  /// Evaluates as much of the batch as the budget allows, in order.
  /// @throws BudgetExhausted if that is not all, or if the time is over or the search cancelled
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;
  /// The same for rows and for neighbours. If the columns of the devices are not wanted, a new best
  /// placement is evaluated a second time, for its whole outcome; that counts nothing.
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override;
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override;
  bool SetIssueOrder(std::span<const int> order) override;
  /// Counts and records what all of them evaluate: the first evaluation of each, then the second of
  /// each, and so on. They learn of the budget's seconds and of `cancelled` only (asked by several
  /// threads at once, and by each rank's own clock): what is beyond the budget's evaluations is cut
  /// off afterwards.
  /// @throws BudgetExhausted if one of them does or something is cut off, after the others' end
  void RunAbreast(std::span<const SearchAbreast> searches) override;
  std::int64_t remaining() const override;

  /// The best placement so far.
  struct Best {
    Placement placement;
    Outcome outcome;
    std::int64_t index = 0;  ///< evaluation that found it, from 0
    /// [num_ops] op ids in the order in which it is issued, if the search set one; empty: in the
    /// order that the evaluator was made with.
    std::vector<int> issue_order;
  };
  /// Goes on where an earlier part of the same search ended: its evaluations and seconds count
  /// towards the budget. To be called before the first evaluation.
  /// @param seconds  that the earlier part took [s]
  void Restore(std::optional<Best> best, std::vector<EvaluationRecord> records, double seconds);

  /// The best by Better(); the first of equals. Empty before the first evaluation.
  const std::optional<Best>& best() const { return best_; }
  /// One per evaluation, in order.
  const std::vector<EvaluationRecord>& records() const { return records_; }
  /// Since the search began, its restored part included. [s]
  double seconds() const;

 private:
  /// Calls evaluate(first, count) for one part of a batch after another, as far as the budget goes.
  template <class EvaluatePart>
  void InParts(std::size_t size, const EvaluatePart& evaluate);
  /// The same with columns: evaluate(first, count, columns of the part), after which the part is
  /// recorded. placement(i) makes the i-th of the batch.
  template <class EvaluatePart, class PlacementAt>
  void InParts(std::size_t size,
               const OutcomeColumns& outcomes,
               const EvaluatePart& evaluate,
               const PlacementAt& placement);
  void Record(double now, Nanos step_time, bool feasible);
  void SetBest(Best best);
  /// Whether the time is over or the search cancelled; of several ranks only rank 0 knows.
  bool TimeIsOver() const;
  /// @throws BudgetExhausted if it is
  void RequireTime() const;
  /// Write and read what a search abreast recorded.
  void SavePart(std::ostream& out) const;
  void LoadPart(std::istream& in);
  /// Takes over what searches abreast recorded, as far as the budget goes.
  /// @return whether that is all
  bool Merge(std::span<const std::optional<MeteredEvaluator>> parts);

  Budget budget_;
  std::function<bool()> cancelled_;
  std::chrono::steady_clock::time_point start_;
  std::optional<Best> best_;
  std::vector<EvaluationRecord> records_;
  std::vector<int> issue_order_;  // as Best::issue_order, for what is evaluated at present
  Nanos best_feasible_ = kMaxNanos;
  std::optional<std::vector<Best>> bests_;  // all there were; of a search abreast only
  bool ended_ = false;                      // by its budget; of a search abreast only
  // Columns of a part that the caller does not want.
  std::vector<Nanos> step_time_;
  std::vector<std::int64_t> deficit_;
};

/// Write and read a best placement, for another process of this run (framework/base/raw_stream.h).
void WriteRawBest(std::ostream& out, const MeteredEvaluator::Best& best);
MeteredEvaluator::Best ReadRawBest(std::istream& in);

}  // namespace emplace
