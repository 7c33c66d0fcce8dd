#pragma once

// Random settings for a sweep: the map `draw` of its config. Its form is that of `emplace tune`
// (scripts/emplace/doc/tune.md).
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

/// Draws values for every key of `draw`, `count` times. With `log: true` the logarithm is uniform.
/// Values have six significant digits. The first draws do not depend on the count.
/// @return [count][keys]; empty if `draw` has no key
/// @throws InputError for a value that is not such a map, for a low end above the high one, and
///   with `log: true` for a low end of 0 or less
std::vector<std::vector<GridChoice>> DrawChoices(const ConfigNode& draw,
                                                 int count,
                                                 std::uint64_t seed);

}  // namespace emplace
