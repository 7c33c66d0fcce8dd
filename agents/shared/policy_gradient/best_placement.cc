#include "agents/shared/policy_gradient/best_placement.h"

#include <limits>

namespace emplace {

double StepTimeOrNan(const Score& score) {
  return score.feasible() ? static_cast<double>(score.step_time)
                          : std::numeric_limits<double>::quiet_NaN();
}

bool BestPlacement::Offer(const Placement& placement, const Score& score) {
  if (placement_ && score >= score_) return false;
  placement_ = placement;
  score_ = score;
  return true;
}

double BestPlacement::step_time() const {
  return placement_ ? StepTimeOrNan(score_) : std::numeric_limits<double>::quiet_NaN();
}

void BestPlacement::VisitState(StateVisitor& v, const Problem& problem) {
  v.Optional(placement_, [&](Placement& placement) {
    v.Devices(placement, problem);
    v.Score(score_);
  });
}

}  // namespace emplace
