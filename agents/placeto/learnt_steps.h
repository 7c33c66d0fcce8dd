#pragma once

// Which steps of an episode an update learns from [ours]. Most steps of a policy that has settled
// leave their group where it is; they tell little and cost as much to differentiate as the others.
// All steps that move their group are learnt from, and a few of the others, drawn with equal
// probability, each of which stands for as many: a sum over the steps keeps its expectation.

#include <span>
#include <vector>

#include "agents/placeto/episode.h"
#include "framework/base/random.h"

namespace emplace {

struct LearntStep {
  int step = 0;      ///< index into the episode's steps
  float weight = 1;  ///< steps that it stands for
};

/// Whether the step puts its group elsewhere.
bool Moves(const EpisodeStep& step);

/// @param stays  steps that move nothing to draw; 0, or as many as there are: all, and `rng` is
///   left alone
/// @return in the order of the episode
std::vector<LearntStep> ChooseLearntSteps(std::span<const EpisodeStep> steps, int stays, Rng& rng);

}  // namespace emplace
