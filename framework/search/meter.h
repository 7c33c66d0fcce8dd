#pragma once

// A search within a budget: counts and records every evaluation, keeps the best placement, and ends
// the search when a limit is reached.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "framework/search/evaluator.h"

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
class MeteredEvaluator final : public Evaluator {
 public:
  /// @param inner  outlives this
  /// @param cancelled  asked before every batch and every sixteen placements within; true ends the
  ///   search like an exhausted budget
  MeteredEvaluator(Evaluator& inner, const Budget& budget, std::function<bool()> cancelled = {});

  const Problem& problem() const override { return inner_.problem(); }
  /// Evaluates as much of the batch as the budget allows, in order.
  /// @throws BudgetExhausted if that is not all, or if the time is over or the search cancelled
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;
  std::int64_t remaining() const override;

  /// The best placement so far.
  struct Best {
    Placement placement;
    Outcome outcome;
    std::int64_t index = 0;  ///< evaluation that found it, from 0
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
  void EvaluatePart(std::span<const Placement> placements,
                    std::span<Outcome> outcomes,
                    const OutcomeDetail& detail);

  Evaluator& inner_;
  Budget budget_;
  std::function<bool()> cancelled_;
  std::chrono::steady_clock::time_point start_;
  std::optional<Best> best_;
  std::vector<EvaluationRecord> records_;
  Nanos best_feasible_ = kMaxNanos;
};

}  // namespace emplace
