#pragma once

// The setting `start` of agents. initial_placements.h explains the names.

#include <string>
#include <vector>

namespace emplace {

inline constexpr const char* kStartHelp =
    "initial placements, of which the best is used: contiguous, cpop, etf, heft, pipeline_stages, "
    "heuristics (all of these and single), none (random or untrained), random, single, single_cpu, "
    "single_gpu, or paths of placement files";

/// Returns the default of searches.
inline std::vector<std::string> SearchStarts() {
  return {"single", "contiguous", "pipeline_stages", "heft", "etf", "random"};
}

}  // namespace emplace
