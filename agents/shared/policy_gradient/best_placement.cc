#include "agents/shared/policy_gradient/best_placement.h"

#include <limits>

namespace emplace {

double StepTimeOrNan(const Outcome& outcome) {
  return outcome.feasible ? static_cast<double>(outcome.step_time)
                          : std::numeric_limits<double>::quiet_NaN();
}

bool BestPlacement::Offer(const Placement& placement, const Outcome& outcome) {
  if (placement_ && !Better(outcome, outcome_)) return false;
  placement_ = placement;
  outcome_ = outcome;
  outcome_.start.clear();
  outcome_.finish.clear();
  return true;
}

double BestPlacement::step_time() const {
  return placement_ ? StepTimeOrNan(outcome_) : std::numeric_limits<double>::quiet_NaN();
}

void BestPlacement::VisitState(StateVisitor& v, const Problem& problem) {
  v.Optional(placement_, [&](Placement& placement) {
    v.Devices(placement, problem);
    v.Result(outcome_, problem);
  });
}

}  // namespace emplace
