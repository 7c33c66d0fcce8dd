#pragma once

// Outcomes in columns. Their memory is reused from batch to batch.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/search/evaluator.h"

namespace emplace {

/// Reads an outcome from columns, all of which must be there. Leaves channels and op times empty.
void ReadOutcome(const OutcomeColumns& columns,
                 std::size_t i,
                 const Problem& problem,
                 Outcome& outcome);

/// Outcomes of a batch of placements, with or without those of each device.
class OutcomeTable {
 public:
  /// Returns columns for n outcomes, to be passed to an evaluator. Overwrites the earlier outcomes.
  OutcomeColumns Columns(std::size_t n, const Problem& problem);
  /// Returns columns without those of each device, which an evaluator may fill much faster.
  OutcomeColumns ScoreColumns(std::size_t n);

  std::size_t size() const { return step_time_.size(); }
  Score score(std::size_t i) const { return {deficit_[i], step_time_[i]}; }
  /// Returns the index of the best outcome, the first of equals. @pre size() > 0
  std::size_t IndexOfBest() const;
  /// Reads the i-th outcome by ReadOutcome(). @pre the columns were those of Columns()
  void Read(std::size_t i, const Problem& problem, Outcome& outcome) {
    ReadOutcome({step_time_, deficit_, peak_, busy_}, i, problem, outcome);
  }

 private:
  std::vector<Nanos> step_time_, busy_;
  std::vector<std::int64_t> deficit_, peak_;
};

}  // namespace emplace
