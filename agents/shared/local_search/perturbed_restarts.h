#pragma once

// Distance from the best placement at which a local search restarts. Each group moves with
// probability
//
//   min(1, perturbation * 2^r),     r = restarts since the best was found.
//
// The distance grows until a better placement is found. When the probability reaches 1, the next
// restart begins with r = 0 again.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/search/state.h"

namespace emplace {

class PerturbedRestarts {
 public:
  /// @param perturbation  in [0, 1]
  explicit PerturbedRestarts(double perturbation) : perturbation_(perturbation) {}
  /// Reports that a new best placement was found.
  void Found() { restarts_ = 0; }
  /// Proposes starting points for the next restart.
  /// @param lists  set to `count` perturbations of the best placement
  void Propose(const MoveProposer& proposer,
               Rng& rng,
               const Placement& best,
               std::int64_t count,
               MoveLists& lists) {
    const double share = std::min(1.0, perturbation_ * std::exp2(restarts_));
    restarts_ = share < 1 && share > 0 ? restarts_ + 1 : 0;
    lists.Clear();
    for (; count > 0; --count) proposer.Perturb(rng, share, best, lists);
  }
  void VisitState(StateVisitor& v) { v.Count("a number of restarts", restarts_); }

 private:
  double perturbation_;
  int restarts_ = 0;  // since the best was found
};

}  // namespace emplace
