#pragma once

// Draws placements from a distribution per group so that neighbours agree where their distributions
// do [ours].
//
// Independent draws of hundreds of groups cut a graph at random: of two neighbours that are each on
// device 0 or 1 with probability 1/2, half of the draws cut the edge, though no elite may have cut
// it. Here a group takes over the uniform number of a neighbour drawn before it with probability
// `cohesion`, and draws one of its own otherwise; a number u becomes the first device at which the
// group's cumulative distribution exceeds u. So every group has exactly its own distribution, as
// in an independent draw, but whole regions go where they go together: u passes along a random
// forest within the graph, and equal distributions make equal devices of equal numbers.

#include <cstddef>
#include <vector>

#include "framework/base/random.h"
#include "framework/learn/matrix.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

class CoupledDraws {
 public:
  /// @param problem  outlives this    @param cohesion  in [0, 1]; 0: independent draws
  CoupledDraws(const Problem& problem, double cohesion) : problem_(problem), cohesion_(cohesion) {}
  /// @param probabilities  [num_groups, num_devices]; 0 where a group may not run
  Placement Draw(const Matrix& probabilities, Rng& rng) const;

 private:
  const Problem& problem_;
  double cohesion_;
};

}  // namespace emplace
