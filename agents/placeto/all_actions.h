#pragma once

// The all-action policy gradient (R. Sutton, A. Barto, Reinforcement Learning, 2018, section 13.3;
// not in the paper of Placeto). The gradient of a step is that of the expected reward over all
// devices, instead of an estimate from the one that was drawn:
//
//   loss_t = -sum_a pi(a | s_t) A_t(a)
//   A_t(a) = r'_t(a) - sum_b pi(b | s_t) r'_t(b),   r'_t(a) = clamp(r_t(a) / u, -1, 1)
//
// u is the root mean square of the episode's positive rewards, of all rewards if none is positive.
// The bound keeps large losses from outweighing small gains. Later rewards do not count: `discount`
// has no effect.

#include <span>

#include "agents/placeto/episode.h"
#include "framework/learn/matrix.h"

namespace emplace {

/// Returns A_t(a) of each step and device, 0 where the group may not run.
/// @param steps  of an episode with EpisodeStep::rewards
/// @param log_probabilities  log pi(a | s_t) [num_steps, num_devices]
/// @return [num_steps, num_devices]
Matrix ActionAdvantages(std::span<const EpisodeStep> steps, const Matrix& log_probabilities);

}  // namespace emplace
