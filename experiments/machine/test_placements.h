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

/// Options of TestPlacements().
struct TestPlacementOptions {
  int count = 30;                ///< placements in total
  std::uint64_t seed = 2;        ///< of the random placements and of the searches
  double search_seconds = 5;     ///< of both searches together [s]
  std::vector<Placement> known;  ///< excluded, because the costs were calibrated on them
  std::function<bool()> stop;    ///< true: no further agent begins; may be empty
};

/// Returns different placements of all qualities that fit into the devices' memory in the
/// simulation: the best of simulated annealing and hill climbing in stream semantics, those of the
/// constructive agents (the expert only if there are rules for a graph of this name), busy ones,
/// and random ones (DrawPlacements()) for the rest. A busy placement is close to another placement
/// and keeps every device busy for more than kBusyStepShare of the simulated step; it shows the
/// interference between devices. Up to half of all placements are busy, if the graph has such
/// placements. Agents that cannot place this problem are left out.
/// @return up to `count` placements, fewer if a small problem has no more; labelled by agent, or by
///   family and number ("busy 3", "random 2")
inline constexpr double kBusyStepShare = 0.6;
std::vector<Candidate> TestPlacements(const std::shared_ptr<const Problem>& problem,
                                      const TestPlacementOptions& options);

}  // namespace emplace
