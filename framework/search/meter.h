#pragma once

// A search within a budget. The evaluator counts and records every evaluation, keeps the best
// placement, and ends the search when a limit is reached.

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

/// Limits of a search, which ends when it reaches the first of them.
struct Budget {
  std::int64_t evaluations = INT64_MAX;  ///< placements evaluated
  double seconds = 1e18;                 ///< wall-clock time [s]
  std::int64_t steps = INT64_MAX;        ///< calls of Agent::Step, counted by the runner
};

/// Thrown by a metered evaluator when the budget ends within Agent::Step. The evaluations made
/// before are recorded.
class BudgetExhausted : public std::exception {
 public:
  const char* what() const noexcept override { return "search budget exhausted"; }
};

/// A row of the results' `evaluations` table.
struct EvaluationRecord {
  double wall_seconds = 0;   ///< since the search began [s]
  Nanos step_time = 0;       ///< [ns]
  Nanos best_step_time = 0;  ///< best feasible one so far, kMaxNanos without one [ns]
  bool feasible = false;
};

/// A decorator of an evaluator. It returns the same outcomes, counts and records them, keeps the
/// best, and enforces the budget.
class MeteredEvaluator final : public ForwardingEvaluator {
 public:
  /// @param inner  outlives this; always gives the same outcome for a placement
  /// @param cancelled  called before every batch, and within it about every 2^20 ops evaluated (10
  ///   ms at 10 ns each), but at most every 64 placements, which engines evaluate together; true
  ///   ends the search like an exhausted budget
  MeteredEvaluator(Evaluator& inner, const Budget& budget, std::function<bool()> cancelled = {});

  /// Evaluates as much of the batch as the budget allows, in order.
  /// @throws BudgetExhausted if that is not the whole batch, the time is over, or it is cancelled
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;
  /// As Evaluate(), for rows and for neighbours. If the caller does not want the columns of the
  /// devices, best() evaluates the best placement a second time for its complete outcome. This
  /// evaluation does not count. Several ranks make it at once for each new best placement.
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override;
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override;
  bool SetIssueOrder(std::span<const int> order) override;
  /// Counts and records the evaluations of all searches: the first evaluation of each, then the
  /// second of each, and so on. The searches themselves observe only the budget's seconds and
  /// `cancelled` (called by several threads at once, and by each rank with its own clock).
  /// Evaluations beyond the budget's number are cut off afterwards.
  /// @throws BudgetExhausted if one of them does or evaluations are cut off, after all have ended
  void RunConcurrently(std::span<const ConcurrentSearch> searches) override;
  std::int64_t remaining() const override;

  /// The best placement so far.
  struct Best {
    Placement placement;
    Outcome outcome;
    Score score;             ///< of the outcome
    std::int64_t index = 0;  ///< of the evaluation that found it, from 0
    /// [num_ops] op ids in the order of issue, if the search set one; empty: the order with which
    /// the evaluator was made.
    std::vector<int> issue_order;
  };
  /// Resumes a search whose earlier part has the given results: its evaluations and seconds count
  /// towards the budget. Call it before the first evaluation.
  /// @param seconds  duration of the earlier part [s]
  void Restore(std::optional<Best> best, std::vector<EvaluationRecord> records, double seconds);

  /// Returns the best placement by Better(), the first of equals; empty before any evaluation.
  const std::optional<Best>& best() const;
  /// Returns one record per evaluation, in order.
  const std::vector<EvaluationRecord>& records() const { return records_; }
  /// Returns the time since the search began, including a restored part. [s]
  double seconds() const;

 private:
  /// Calls evaluate(first, count) for the parts of a batch in turn, as far as the budget allows.
  template <class EvaluatePart>
  void InParts(std::size_t size, const EvaluatePart& evaluate);
  /// As above with columns: calls evaluate(first, count, columns of the part) and records the part.
  /// placement(i) makes the i-th placement of the batch.
  template <class EvaluatePart, class PlacementAt>
  void InParts(std::size_t size,
               const OutcomeColumns& outcomes,
               const EvaluatePart& evaluate,
               const PlacementAt& placement);
  void Record(double now, Nanos step_time, bool feasible);
  void SetBest(Best best);
  /// Returns whether the time is over or the search cancelled; always false on ranks other than 0.
  bool TimeIsOver() const;
  /// @throws BudgetExhausted if TimeIsOver()
  void RequireTime() const;
  /// Write and read the records of a concurrent search.
  void SavePart(std::ostream& out) const;
  void LoadPart(std::istream& in);
  /// Takes over the records of concurrent searches, as far as the budget allows.
  /// @return whether all of them were taken
  bool Merge(std::span<const std::optional<MeteredEvaluator>> parts);

  Budget budget_;
  std::function<bool()> cancelled_;
  std::chrono::steady_clock::time_point start_;
  mutable std::optional<Best> best_;  // its outcome has no devices before best() completes it
  std::vector<EvaluationRecord> records_;
  std::vector<int> issue_order_;  // as Best::issue_order, for the current evaluations
  Nanos best_feasible_ = kMaxNanos;
  std::optional<std::vector<Best>> bests_;  // all successive ones; only in concurrent searches
  bool ended_ = false;                      // by its budget; only in concurrent searches
  // Columns of a part that the caller does not want but the records need.
  std::vector<Nanos> step_time_;
  std::vector<std::int64_t> deficit_;
};

/// Write and read a best placement, to send it to another process (framework/base/raw_stream.h).
void WriteRawBest(std::ostream& out, const MeteredEvaluator::Best& best);
MeteredEvaluator::Best ReadRawBest(std::istream& in);

}  // namespace emplace
