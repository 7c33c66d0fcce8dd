#include "agents/hill_climb/hill_climb.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include <fmt/format.h>

#include "framework/config/setting_error.h"

namespace emplace {
namespace {

int BatchSize(const Evaluator& evaluator, int wanted) {
  return static_cast<int>(std::clamp<std::int64_t>(evaluator.remaining(), 1, wanted));
}

}  // namespace

HillClimbAgent::HillClimbAgent(const AgentContext& context, const Config& config)
    : LocalSearchAgent("hill_climb", context, config.start),
      config_(config),
      proposer_(*context.problem, config.moves, "moves"),
      restarts_(config.perturbation),
      islands_(Islands::Of<HillClimbAgent>(context, config)) {
  if (config.accept != "best" && config.accept != "first") {
    throw SettingError("accept",
                       fmt::format("expected \"best\" or \"first\", got \"{}\"", config.accept));
  }
  const std::int64_t enough = 1 + 3 * proposer_.num_single_moves() / config.batch;
  patience_ = static_cast<int>(std::min<std::int64_t>(config.patience, enough));
}

void HillClimbAgent::Adopted() {
  current() = best();
  stale_ = 0;
  restarts_.Found();
  islands_.Adopt(best());
}

void HillClimbAgent::Begin(const std::vector<ScoredPlacement>&) {
  islands_.Begin([this] { return rng()(); });
}

void HillClimbAgent::MoveTo(std::size_t i) {
  candidates_.MoveTo(i, current());
  if (Note(current())) restarts_.Found();
}

void HillClimbAgent::Climb(Evaluator& evaluator) {
  candidates_.moves().Clear();
  for (int left = BatchSize(evaluator, config_.batch); left > 0; --left) {
    proposer_.Propose(rng(), current().placement, candidates_.moves());
  }
  candidates_.Evaluate(current().placement, evaluator);
  const Score here = current().score;
  std::size_t chosen = candidates_.IndexOfBest();
  if (config_.accept == "first" && candidates_.score(chosen) < here) {
    for (chosen = 0; candidates_.score(chosen) >= here;) ++chosen;
  }
  const Score there = candidates_.score(chosen);
  if (there < here || (there == here && config_.sideways)) MoveTo(chosen);
  stale_ = there < here ? 0 : stale_ + 1;
}

void HillClimbAgent::Restart(Evaluator& evaluator) {
  current() = best();
  restarts_.Propose(
      proposer_, rng(), best().placement, BatchSize(evaluator, config_.batch), candidates_.moves());
  candidates_.Evaluate(current().placement, evaluator);
  MoveTo(candidates_.IndexOfBest());
  stale_ = 0;
}

void HillClimbAgent::Improve(Evaluator& evaluator) {
  if (islands_) {
    Note(islands_.Improve(evaluator, best()));
  } else if (stale_ >= patience_) {
    Restart(evaluator);
  } else {
    Climb(evaluator);
  }
}

void HillClimbAgent::VisitSearch(StateVisitor& v) {
  v.Count("a number of batches", stale_);
  restarts_.VisitState(v);
  islands_.VisitState(v);
}

}  // namespace emplace
