#include "tests/agents/example/coordinate.h"

#include "agents/random/random_agent.h"
#include "framework/search/state.h"

namespace emplace {

CoordinateAgent::CoordinateAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem), config_(config), rng_(context.seed) {
}

void CoordinateAgent::Step(Evaluator& evaluator) {
  if (sweep_ == 0) {
    current_.placement = DrawPlacement(*problem_, rng_);
    current_.score = evaluator.ScoreAt(current_.placement);
  }
  settled_ = true;
  for (int group = 0; group < problem_->num_groups(); ++group) {
    candidates_.moves().Clear();
    for (int device = 0; device < problem_->num_devices(); ++device) {
      if (!problem_->allowed(group, device) || device == current_.placement.device[group]) continue;
      candidates_.moves().Add(group, device);
      candidates_.moves().End();
    }
    if (candidates_.size() == 0) continue;
    candidates_.Evaluate(current_.placement, evaluator);
    const std::size_t best = candidates_.IndexOfBest();
    if (candidates_.score(best) >= current_.score) continue;
    candidates_.MoveTo(best, current_);
    settled_ = false;
  }
  ++sweep_;
}

void CoordinateAgent::VisitState(StateVisitor& v) {
  v.Begin("coordinate", *problem_);
  v.Generator(rng_);
  v.Int("a number of steps", sweep_, 0, config_.sweeps);
  v.Flag(settled_);
  if (sweep_ == 0) return;
  v.Devices(current_.placement);
  v.Score(current_.score);
}

}  // namespace emplace
