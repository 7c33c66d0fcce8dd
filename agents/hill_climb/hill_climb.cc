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

int BatchSize(const Evaluator& evaluator, int wanted) {
  return static_cast<int>(std::clamp<std::int64_t>(evaluator.remaining(), 1, wanted));
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

void HillClimbAgent::NoteBest() {
  if (started_ && current_score_ >= best_score_) return;
  best_ = current_;
  best_score_ = current_score_;
  restarts_ = 0;
}

void HillClimbAgent::EvaluateCandidates(Evaluator& evaluator, const Placement& base) {
  evaluator.EvaluateNeighbors(candidates_.Of(base), scores_.ScoreColumns(candidates_.size()));
}

void HillClimbAgent::MoveTo(const Placement& base, std::size_t i) {
  current_ = base;
  candidates_.Apply(i, current_.device);
  current_score_ = scores_.score(i);
  NoteBest();
}

void HillClimbAgent::Begin(Evaluator& evaluator) {
  std::vector<Placement> starts;
  for (const std::string& name : config_.start) {
    starts.push_back(MakeStart(*problem_, name, rng_, interrupt_));
  }
  const std::vector<Outcome> outcomes = evaluator.Evaluate(starts);
  const std::size_t best = IndexOfBest(outcomes);
  current_ = starts[best];
  current_score_ = ScoreOf(outcomes[best]);
  NoteBest();
  started_ = true;
}

void HillClimbAgent::Climb(Evaluator& evaluator) {
  candidates_.Clear();
  for (int left = BatchSize(evaluator, config_.batch); left > 0; --left) {
    proposer_.Propose(rng_, current_, candidates_);
  }
  EvaluateCandidates(evaluator, current_);
  const Score here = current_score_;
  std::size_t chosen = scores_.IndexOfBest();
  if (config_.accept == "first" && scores_.score(chosen) < here) {
    for (chosen = 0; scores_.score(chosen) >= here;) ++chosen;
  }
  const Score there = scores_.score(chosen);
  if (there < here || (there == here && config_.sideways)) MoveTo(current_, chosen);
  stale_ = there < here ? 0 : stale_ + 1;
}

void HillClimbAgent::Restart(Evaluator& evaluator) {
  const double share = std::min(1.0, config_.perturbation * std::exp2(restarts_));
  restarts_ = share < 1 && share > 0 ? restarts_ + 1 : 0;
  candidates_.Clear();
  for (int left = BatchSize(evaluator, config_.batch); left > 0; --left) {
    proposer_.Perturb(rng_, share, best_, candidates_);
  }
  EvaluateCandidates(evaluator, best_);
  MoveTo(best_, scores_.IndexOfBest());
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
  writer.Score(current_score_);
  writer.Devices(best_);
  writer.Score(best_score_);
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
  current_score_ = reader.Score();
  best_ = reader.Devices();
  best_score_ = reader.Score();
}

}  // namespace emplace
