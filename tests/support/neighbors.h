#pragma once

// Random neighbours of placements, for the tests of Evaluator::EvaluateNeighbors().

#include <vector>

#include "framework/base/random.h"
#include "framework/search/evaluator.h"

namespace emplace::testing {

/// Neighbours of no move to more moves than there are groups; some move a group to where it is, and
/// some move one group several times.
struct RandomNeighbors {
  RandomNeighbors(Rng& rng, const Problem& problem, int count);

  int size() const { return static_cast<int>(begin.size()) - 1; }
  /// The i-th neighbour of a base.
  Placement Moved(Placement base, int i) const;
  /// All of them.
  std::vector<Placement> Placements(const Placement& base) const;

  std::vector<int> begin{0};
  std::vector<Move> moves;
};

}  // namespace emplace::testing
