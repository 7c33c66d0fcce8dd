#include "agents/placeto/learnt_steps.h"

#include <algorithm>

namespace emplace {

bool Moves(const EpisodeStep& step) {
  return step.device != step.state.placement.device[step.state.current];
}

std::vector<LearntStep> ChooseLearntSteps(std::span<const EpisodeStep> steps, int stays, Rng& rng) {
  std::vector<LearntStep> chosen;
  std::vector<int> others;
  for (int t = 0; t < std::ssize(steps); ++t) {
    if (Moves(steps[t])) {
      chosen.push_back({t, 1});
    } else {
      others.push_back(t);
    }
  }
  const int all = static_cast<int>(others.size());
  const int kept = stays == 0 ? all : std::min(stays, all);
  for (int i = 0; i < kept && kept < all; ++i) {
    std::swap(others[i], others[i + UniformInt(rng, all - i)]);
  }
  for (int i = 0; i < kept; ++i) {
    chosen.push_back({others[i], static_cast<float>(all) / static_cast<float>(kept)});
  }
  std::sort(chosen.begin(), chosen.end(), [](const LearntStep& a, const LearntStep& b) {
    return a.step < b.step;
  });
  return chosen;
}

}  // namespace emplace
