#include "agents/shared/local_search/local_search_agent.h"

#include <algorithm>
#include <utility>

#include "agents/initial_placements/initial_placements.h"
#include "agents/shared/devices.h"

namespace emplace {

bool Within(const Score& score, const Score& other, double slack) {
  if (score.deficit != other.deficit) return score.deficit < other.deficit;
  return static_cast<double>(score.step_time) <= (1 + slack) * static_cast<double>(other.step_time);
}

void NeighborBatch::Evaluate(const Placement& base, Evaluator& evaluator) {
  step_time_.resize(moves_.size());
  deficit_.resize(moves_.size());
  evaluator.EvaluateNeighbors(
      moves_.Of(base), {.step_time = step_time_, .deficit = deficit_, .peak = {}, .busy = {}});
}

std::size_t NeighborBatch::IndexOfBest() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < size(); ++i) {
    if (score(i) < score(best)) best = i;
  }
  return best;
}

void NeighborBatch::MoveTo(std::size_t i, ScoredPlacement& at) const {
  moves_.Apply(i, at.placement.device);
  at.score = score(i);
}

LocalSearchAgent::LocalSearchAgent(std::string name,
                                   const AgentContext& context,
                                   std::vector<std::string> start)
    : LocalSearchAgent(std::move(name), context) {
  ValidateStarts(*problem_, "start", start);
  start_ = std::move(start);
}

LocalSearchAgent::LocalSearchAgent(std::string name, const AgentContext& context)
    : name_(std::move(name)),
      problem_(context.problem),
      interrupt_(context.end_construction),
      rng_(context.seed),
      any_choice_(NumChoices(*problem_) > 0) {
}

bool LocalSearchAgent::Note(const ScoredPlacement& found) {
  if (found.score >= best_.score) return false;
  best_ = found;
  return true;
}

bool LocalSearchAgent::NoteBestOf(const NeighborBatch& batch, const Placement& base) {
  const std::size_t i = batch.IndexOfBest();
  if (batch.score(i) >= best_.score) return false;
  best_.placement = base;
  batch.MoveTo(i, best_);
  return true;
}

void LocalSearchAgent::Adopt(const ScoredPlacement& found) {
  if (started_ && found.score >= best_.score) return;
  best_ = found;
  if (started_) {
    Adopted();
    return;
  }
  current_ = found;
  Begin({found});
  started_ = true;
}

void LocalSearchAgent::Step(Evaluator& evaluator) {
  if (started_) {
    if (any_choice_) Improve(evaluator);
    return;
  }
  if (start_.empty()) {
    Begin({});
    started_ = true;
    Improve(evaluator);
    return;
  }
  std::vector<Placement> placements = MakeStarts(*problem_, start_, rng_, interrupt_);
  const std::vector<Score> scores = evaluator.Scores(placements);
  std::vector<ScoredPlacement> starts;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    starts.push_back({std::move(placements[i]), scores[i]});
  }
  current_ = best_ = starts[IndexOfBest(scores)];
  Begin(starts);
  started_ = true;
}

void LocalSearchAgent::VisitState(StateVisitor& v) {
  v.Begin(name_, *problem_);
  v.Generator(rng_);
  v.Flag(started_);
  if (!started_) return;
  VisitScored(v, current_);
  VisitScored(v, best_);
  VisitSearch(v);
}

void VisitScored(StateVisitor& v, ScoredPlacement& scored) {
  v.Devices(scored.placement);
  v.Amount("missing bytes", scored.score.deficit);
  v.Amount("a step time", scored.score.step_time);
}

}  // namespace emplace
