#pragma once

// The placements that `emplace validate` executes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/run/candidate.h"
#include "framework/search/problem.h"

namespace emplace {

/// What is wanted.
struct TestPlacementOptions {
  int count = 30;                ///< placements in all
  std::uint64_t seed = 2;        ///< of the random placements and of the searches
  double search_seconds = 5;     ///< of both searches together [s]
  std::vector<Placement> known;  ///< none of these is taken, because costs were calibrated on them
  std::function<bool()> stop;    ///< true: no further agent begins; may be empty
};

/// Placements of all qualities, all different and all within the devices' memory as simulated: the
/// best that simulated annealing and hill climbing find in stream semantics, what the constructive
/// agents make (the expert only if there are rules for a graph of this name), busy ones, and random
/// ones (DrawPlacements()) for the rest. Busy ones are near one of the others and keep every device
/// busy for more than kBusyStepShare of the step, as simulated: they tell what devices cost one
/// another. Up to half of all placements do so, if the graph has such. An agent that cannot place
/// this problem is left out.
/// @return up to `count` of them, fewer where a small problem has no more; labelled by agent, or by
///   family and number ("busy 3", "random 2")
inline constexpr double kBusyStepShare = 0.6;
std::vector<Candidate> TestPlacements(const std::shared_ptr<const Problem>& problem,
                                      const TestPlacementOptions& options);

}  // namespace emplace
