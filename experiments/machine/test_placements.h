#pragma once

// Which placements a validation executes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/machine/verification.h"

namespace emplace {

struct TestPlacementOptions {
  int count = 30;                ///< in all
  std::uint64_t seed = 2;        ///< of the drawn ones and the searches
  double search_seconds = 5;     ///< of both searches together [s]
  std::vector<Placement> known;  ///< the costs were calibrated on these: none of them is taken
  std::function<bool()> stop;    ///< true: end the searches soon. May be empty
};

/// Placements spread over quality, all different, all within the devices' memory as simulated, none
/// of them in `known`: the best that simulated annealing and hill climbing find in S semantics,
/// what the constructive agents make (expert only if its rules are on the menu under the graph's
/// name), and drawn ones (DrawPlacements) for the rest. An agent that cannot place this problem is
/// left out.
std::vector<Candidate> TestPlacements(const std::shared_ptr<const Problem>& problem,
                                      const TestPlacementOptions& options);

}  // namespace emplace
