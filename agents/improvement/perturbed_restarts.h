#pragma once

// How far from the best placement a local search begins anew: each group moves with probability
//
//   min(1, perturbation * 2^r),     r = restarts since the best was found.
//
// The longer nothing better is found, the farther away; beyond a share of 1 it starts over with
// r = 0.

#include <algorithm>
#include <cmath>

#include "agents/common/state.h"

namespace emplace {

class PerturbedRestarts {
 public:
  /// @param perturbation  in [0, 1]
  explicit PerturbedRestarts(double perturbation) : perturbation_(perturbation) {}
  /// The best placement was found.
  void Found() { restarts_ = 0; }
  /// Share of the groups to be moved by the restart that comes next.
  double NextShare() {
    const double share = std::min(1.0, perturbation_ * std::exp2(restarts_));
    restarts_ = share < 1 && share > 0 ? restarts_ + 1 : 0;
    return share;
  }
  void Save(StateWriter& writer) const { writer.Int(restarts_); }
  void Load(StateReader& reader) {
    restarts_ = static_cast<int>(reader.Count("a number of restarts"));
  }

 private:
  double perturbation_;
  int restarts_ = 0;  // since the best was found
};

}  // namespace emplace
