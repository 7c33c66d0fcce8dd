#pragma once

// What a learner remembers of its search: the best placement so far, and for how long nothing
// better was found.

#include <cstdint>
#include <optional>

#include "framework/search/evaluator.h"
#include "framework/search/state.h"

namespace emplace {

/// Step time of a placement that fits, else NaN. [ns]
double StepTimeOrNan(const Outcome& outcome);

/// The best of the placements it was offered, by Better().
class BestPlacement {
 public:
  /// @return whether it is kept: the first one, or better than the one before
  bool Offer(const Placement& placement, const Outcome& outcome);
  /// The best of the other, if it was offered any.
  void Offer(const BestPlacement& other) {
    if (other.placement_) Offer(*other.placement_, other.outcome_);
  }
  /// nullptr before the first.
  const Placement* placement() const { return placement_ ? &*placement_ : nullptr; }
  /// Of the best, without times of ops; there must be one.
  const Outcome& outcome() const { return outcome_; }
  /// StepTimeOrNan of the best; NaN before the first. [ns]
  double step_time() const;
  void Reset() { placement_.reset(); }

  /// @param problem  that the placements belong to
  void VisitState(StateVisitor& v, const Problem& problem);

 private:
  std::optional<Placement> placement_;
  Outcome outcome_;  // of placement_, without times of ops
};

/// When a search begins anew: after `limit` trials in a row that found nothing better. A trial is
/// what the learner takes for one: an update, or a placement.
class Patience {
 public:
  /// @param limit  0: never begins anew
  explicit Patience(std::int64_t limit) : limit_(limit) {}
  void Count(bool better) { trials_ = better ? 0 : trials_ + 1; }
  /// True when a restart is due.
  bool Exhausted() const { return limit_ > 0 && trials_ >= limit_; }
  void Reset() { trials_ = 0; }
  void VisitState(StateVisitor& v) { v.Count("a number of trials", trials_); }

 private:
  std::int64_t limit_;
  std::int64_t trials_ = 0;  // since the last better one
};

}  // namespace emplace
