#include "agents/policy_gradient/best_placement.h"

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

void BestPlacement::Save(StateWriter& writer) const {
  writer.Int(placement_.has_value());
  if (!placement_) return;
  writer.Devices(*placement_);
  writer.Result(outcome_);
}

void BestPlacement::Load(StateReader& reader, const Problem& problem) {
  placement_.reset();
  if (!reader.Flag()) return;
  placement_ = reader.Devices(problem);
  outcome_ = reader.Result(problem);
}

}  // namespace emplace
