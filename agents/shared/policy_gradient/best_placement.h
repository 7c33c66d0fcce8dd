#pragma once

// The best placement of a learner's search, and the number of trials since it was found.

#include <cstdint>
#include <optional>

#include "framework/search/evaluator.h"
#include "framework/search/state.h"

namespace emplace {

/// Returns the step time of a placement that fits, else NaN. [ns]
double StepTimeOrNan(const Score& score);

/// The best of all placements that were offered.
class BestPlacement {
 public:
  /// Stores the placement if it is the first or better than the best. @return whether it was stored
  bool Offer(const Placement& placement, const Score& score);
  /// Offers the best placement of another object, if it has one.
  void Offer(const BestPlacement& other) {
    if (other.placement_) Offer(*other.placement_, other.score_);
  }
  /// Returns the best placement; nullptr if none was offered.
  const Placement* placement() const { return placement_ ? &*placement_ : nullptr; }
  /// Returns StepTimeOrNan() of the best placement; NaN if none was offered. [ns]
  double step_time() const;
  void Reset() { placement_.reset(); }

  /// @param problem  problem of the placements
  void VisitState(StateVisitor& v, const Problem& problem);

 private:
  std::optional<Placement> placement_;
  Score score_;  // of placement_
};

/// Signals a restart after `limit` consecutive trials without a better placement. The learner
/// defines a trial: an update, or a placement.
class Patience {
 public:
  /// @param limit  0: never restarts
  explicit Patience(std::int64_t limit) : limit_(limit) {}
  void Count(bool better) { trials_ = better ? 0 : trials_ + 1; }
  /// Returns true when a restart is due.
  bool Exhausted() const { return limit_ > 0 && trials_ >= limit_; }
  void Reset() { trials_ = 0; }
  void VisitState(StateVisitor& v) { v.Count("a number of trials", trials_); }

 private:
  std::int64_t limit_;
  std::int64_t trials_ = 0;  // since the last better one
};

}  // namespace emplace
