#include "agents/hill_climb/hill_climb.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "agents/common/state.h"
#include "agents/starts/starts.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

std::size_t BatchSize(const Evaluator& evaluator, int wanted) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(evaluator.remaining(), 1, wanted));
}

/// The first of the best.
std::size_t IndexOfBest(const std::vector<Outcome>& outcomes) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    if (Better(outcomes[i], outcomes[best])) best = i;
  }
  return best;
}

}  // namespace

HillClimbAgent::HillClimbAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      interrupt_(context.end_construction),
      config_(config),
      proposer_(*problem_, config.moves, "moves"),
      rng_(context.seed) {
  ValidateStarts(*problem_, "start", config.start);
  RequireRange("batch", config.batch, 1, 1e6);
  RequireRange("patience", config.patience, 1, 1e9);
  RequireRange("perturbation", config.perturbation, 0, 1);
  if (config.accept != "best" && config.accept != "first") {
    throw SettingError("accept",
                       fmt::format("expected \"best\" or \"first\", got \"{}\"", config.accept));
  }
  const std::int64_t enough = 1 + 3 * proposer_.num_single_moves() / config.batch;
  patience_ = static_cast<int>(std::min<std::int64_t>(config.patience, enough));
}

void HillClimbAgent::MoveTo(const Placement& placement, const Outcome& outcome) {
  if (!started_ || Better(outcome, best_outcome_)) {
    best_ = placement;
    best_outcome_ = outcome;
    restarts_ = 0;
  }
  current_ = placement;
  current_outcome_ = outcome;
}

void HillClimbAgent::Begin(Evaluator& evaluator) {
  std::vector<Placement> starts;
  for (const std::string& name : config_.start) {
    starts.push_back(MakeStart(*problem_, name, rng_, interrupt_));
  }
  const std::vector<Outcome> outcomes = evaluator.Evaluate(starts);
  const std::size_t best = IndexOfBest(outcomes);
  MoveTo(starts[best], outcomes[best]);
  started_ = true;
}

void HillClimbAgent::Climb(Evaluator& evaluator) {
  std::vector<Placement> batch(BatchSize(evaluator, config_.batch), current_);
  for (Placement& candidate : batch) proposer_.Propose(rng_, candidate);
  const std::vector<Outcome> outcomes = evaluator.Evaluate(batch);
  std::size_t chosen = IndexOfBest(outcomes);
  if (config_.accept == "first") {
    const auto better = std::find_if(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
      return Better(outcome, current_outcome_);
    });
    if (better != outcomes.end()) chosen = static_cast<std::size_t>(better - outcomes.begin());
  }
  const bool improves = Better(outcomes[chosen], current_outcome_);
  const bool equal = !improves && !Better(current_outcome_, outcomes[chosen]);
  if (improves || (equal && config_.sideways)) MoveTo(batch[chosen], outcomes[chosen]);
  stale_ = improves ? 0 : stale_ + 1;
}

void HillClimbAgent::Restart(Evaluator& evaluator) {
  std::vector<Placement> batch(BatchSize(evaluator, config_.batch), best_);
  const double share = std::min(1.0, config_.perturbation * std::exp2(restarts_));
  restarts_ = share < 1 && share > 0 ? restarts_ + 1 : 0;
  for (Placement& candidate : batch) proposer_.Perturb(rng_, share, candidate);
  const std::vector<Outcome> outcomes = evaluator.Evaluate(batch);
  const std::size_t best = IndexOfBest(outcomes);
  MoveTo(batch[best], outcomes[best]);
  stale_ = 0;
}

void HillClimbAgent::Step(Evaluator& evaluator) {
  if (!started_) {
    Begin(evaluator);
  } else if (!proposer_.any()) {
    return;
  } else if (stale_ >= patience_) {
    Restart(evaluator);
  } else {
    Climb(evaluator);
  }
}

void HillClimbAgent::Save(std::ostream& out) const {
  StateWriter writer(out, "hill_climb", *problem_);
  writer.Generator(rng_);
  writer.Int(started_);
  if (!started_) return;
  writer.Int(stale_);
  writer.Int(restarts_);
  writer.Devices(current_);
  writer.Result(current_outcome_);
  writer.Devices(best_);
  writer.Result(best_outcome_);
}

void HillClimbAgent::Load(std::istream& in) {
  StateReader reader(in, "hill_climb", *problem_);
  reader.Generator(rng_);
  started_ = reader.Flag();
  stale_ = restarts_ = 0;
  if (!started_) return;
  stale_ = static_cast<int>(reader.Count("a number of batches"));
  restarts_ = static_cast<int>(reader.Count("a number of restarts"));
  current_ = reader.Devices();
  current_outcome_ = reader.Result();
  best_ = reader.Devices();
  best_outcome_ = reader.Result();
}

}  // namespace emplace
