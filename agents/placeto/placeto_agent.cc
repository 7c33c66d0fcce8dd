#include "agents/placeto/placeto_agent.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/config/setting_error.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

// A policy for all graphs never restarts, and the caller of Step() decides on the number of
// updates.
PlacetoConfig ForTraining(PlacetoConfig config) {
  if (config.updates) {
    throw SettingError(
        "updates", fmt::format("expected none while a policy is trained, got {}", *config.updates));
  }
  config.patience = 0;
  config.move_share = 0;
  return config;
}

}  // namespace

PlacetoTrainer::PlacetoTrainer(const TrainerContext& context, const Config& config)
    : problems_(context.problems),
      learner_(ForTraining(config),
               context.problems,
               context.seed,
               context.threads,
               context.updates) {
}

void PlacetoTrainer::VisitState(StateVisitor& v) {
  v.Begin("placeto", problems_);
  learner_.VisitState(v);
}

PlacetoAgent::PlacetoAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      config_(config),
      learner_(config, {problem_}, context.seed, 1, config.updates.value_or(0), context.end_step) {
}

void PlacetoAgent::Step(Evaluator& evaluator) {
  if (finished_) return;
  if (!learner_.has_choices() || (config_.updates && learner_.updates() >= *config_.updates)) {
    learner_.Finish(evaluator);
    finished_ = true;
    return;
  }
  Evaluator* evaluators[] = {&evaluator};
  learner_.Update(evaluators);
  if (config_.greedy_every > 0 && learner_.updates() % config_.greedy_every == 0) {
    learner_.GreedyEpisode(evaluator);
  }
}

void PlacetoAgent::VisitState(StateVisitor& v) {
  v.Begin("placeto", *problem_);
  v.Flag(finished_);
  learner_.VisitState(v);
}

}  // namespace emplace
