#pragma once

// Outcomes in columns whose memory is kept from batch to batch.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/search/evaluator.h"

namespace emplace {

/// What searches compare of an outcome. The lesser is better, as by Better().
struct Score {
  std::int64_t deficit = 0;  ///< sum over the devices; 0: feasible [B]
  Nanos step_time = 0;       ///< [ns]

  friend auto operator<=>(const Score&, const Score&) = default;
};
Score ScoreOf(const Outcome& outcome);
/// The first of the best. @pre at least one
std::size_t IndexOfBest(std::span<const Outcome> outcomes);

/// Reads an outcome off columns, none of which is missing. Channels and op times are left empty.
void ReadOutcome(const OutcomeColumns& columns,
                 std::size_t i,
                 const Problem& problem,
                 Outcome& outcome);

/// Outcomes of a batch of placements, with what each device does if that is wanted.
class OutcomeTable {
 public:
  /// The columns of n outcomes, to be handed to an evaluator. What the table held before is lost.
  OutcomeColumns Columns(std::size_t n, const Problem& problem);
  /// The same without what each device does, which may take an evaluator much less time.
  OutcomeColumns ScoreColumns(std::size_t n);

  std::size_t size() const { return step_time_.size(); }
  Score score(std::size_t i) const { return {deficit_[i], step_time_[i]}; }
  /// The first of the best. @pre size() > 0
  std::size_t IndexOfBest() const;
  /// ReadOutcome() of the i-th. @pre the columns were those of Columns()
  void Read(std::size_t i, const Problem& problem, Outcome& outcome) {
    ReadOutcome({step_time_, deficit_, peak_, busy_}, i, problem, outcome);
  }

 private:
  std::vector<Nanos> step_time_, busy_;
  std::vector<std::int64_t> deficit_, peak_;
};

}  // namespace emplace
