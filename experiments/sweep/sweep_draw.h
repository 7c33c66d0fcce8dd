#pragma once

// Random settings for a sweep: the map `draw` of its config, which has the form of that of
// `emplace tune` (scripts/emplace/doc/tune.md).
//
//   draw:
//     agents.hill_climb.batch: {int: [1, 256], log: true}   whole numbers, both ends included
//     agents.hill_climb.start: {choice: [[random], [single_gpu]]}
//     agents.simulated_annealing.cooling: {float: [0.9, 0.999]}

#include <cstdint>
#include <vector>

#include "experiments/sweep/sweep_merge.h"
#include "framework/config/config_node.h"

namespace emplace {

/// Draws values for every key of `draw`, `count` times. With `log: true` the logarithm is even.
/// Values have six significant digits. The first draws are the same whatever the count.
/// @return [count][keys]; empty if `draw` has no key
/// @throws InputError for a value that is no such map, a low end above the high one, and a low end
///   below 0 or equal to it with `log: true`
std::vector<std::vector<GridChoice>> DrawChoices(const ConfigNode& draw,
                                                 int count,
                                                 std::uint64_t seed);

}  // namespace emplace
