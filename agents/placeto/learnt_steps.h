#pragma once

// Chooses the steps of an episode from which an update learns; this choice is not in the paper.
// Most steps of a converged policy leave their group where it is: they contribute little and cost
// as much to differentiate as the others. An update learns from all steps that move their group and
// from a few of the others, drawn with equal probability. The weight of a drawn step is the number
// of steps that it represents, so that a sum over the steps keeps its expectation.

#include <span>
#include <vector>

#include "agents/placeto/episode.h"
#include "framework/base/random.h"

namespace emplace {

struct LearntStep {
  int step = 0;      ///< index into the episode's steps
  float weight = 1;  ///< number of steps that it represents
};

/// Returns true if the step moves its group to another device.
bool Moves(const EpisodeStep& step);

/// Returns the chosen steps in the order of the episode.
/// @param stays  number of steps to draw among those that move nothing; 0, or at least as many as
///   there are: all are taken and `rng` is not used
std::vector<LearntStep> ChooseLearntSteps(std::span<const EpisodeStep> steps, int stays, Rng& rng);

}  // namespace emplace
