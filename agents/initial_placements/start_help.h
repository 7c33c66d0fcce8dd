#pragma once

namespace emplace {

/// Help of the setting `start`; initial_placements.h explains the names.
inline constexpr const char* kStartHelp =
    "initial placements, of which the best is used: contiguous, cpop, etf, heft, heuristics (all "
    "of these and single), none (random or untrained), random, single, single_cpu, single_gpu, or "
    "paths of placement files";

}  // namespace emplace
