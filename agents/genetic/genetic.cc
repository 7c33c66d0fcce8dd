#include "agents/genetic/genetic.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "agents/genetic/crossover.h"

namespace emplace {
namespace {

constexpr int kPerturbations = 5;  // number of different probabilities

}  // namespace

GeneticAgent::GeneticAgent(const AgentContext& context, const Config& config)
    : LocalSearchAgent("genetic", context, config.start),
      config_(config),
      proposer_(*context.problem, config.moves, "moves"),
      islands_(Islands::Of<GeneticAgent>(context, config)) {
}

void GeneticAgent::Begin(const std::vector<ScoredPlacement>& starts) {
  population_ = starts;
  islands_.Begin([this] { return rng()(); });
}

void GeneticAgent::Fill(Evaluator& evaluator) {
  batch_.moves().Clear();
  const auto missing = std::max(0, config_.population - static_cast<int>(population_.size()));
  for (int i = 0; i < missing; ++i) {
    const double share = std::exp2(-4 - i % kPerturbations);
    proposer_.Perturb(rng(), share, best().placement, batch_.moves());
  }
  const ScoredPlacement base = best();
  batch_.Evaluate(base.placement, evaluator);
  NoteBestOf(batch_, base.placement);
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    population_.push_back(base);
    batch_.MoveTo(i, population_.back());
  }
}

void GeneticAgent::Adopted() {
  if (islands_) {
    islands_.Adopt(best());
  } else {
    Insert(best());
  }
}

const ScoredPlacement& GeneticAgent::DrawParent() {
  const int size = static_cast<int>(population_.size());
  int best = UniformInt(rng(), size);
  for (int i = 1; i < config_.tournament; ++i) {
    const int drawn = UniformInt(rng(), size);
    if (population_[drawn].score < population_[best].score) best = drawn;
  }
  return population_[best];
}

void GeneticAgent::Insert(const ScoredPlacement& child) {
  auto place = std::ranges::find(population_, child.score, &ScoredPlacement::score);
  if (place == population_.end()) {
    place = std::ranges::max_element(population_, {}, &ScoredPlacement::score);
    if (child.score > place->score) return;
  }
  *place = child;
}

void GeneticAgent::Improve(Evaluator& evaluator) {
  if (islands_) {
    Note(islands_.Improve(evaluator, best()));
    return;
  }
  if (static_cast<int>(population_.size()) < config_.population) {
    Fill(evaluator);
    return;
  }
  if (stale_ == config_.patience) {
    population_.assign(1, best());
    stale_ = 0;
    return;
  }
  ++stale_;
  ScoredPlacement& child = current();
  const Placement& father = DrawParent().placement;
  child.placement = Crossover(problem(), father, DrawParent().placement, rng());
  for (int climb = 0; climb <= config_.climbs; ++climb) {
    MoveLists& moves = batch_.moves();
    moves.Clear();
    if (climb == 0) {
      moves.Add(0, child.placement.device[0]);
      moves.End();
    }
    while (static_cast<int>(moves.size()) < config_.batch) {
      proposer_.Propose(rng(), child.placement, moves);
    }
    batch_.Evaluate(child.placement, evaluator);
    const std::size_t chosen = batch_.IndexOfBest();
    if (climb == 0 || batch_.score(chosen) <= child.score) batch_.MoveTo(chosen, child);
    if (Note(child)) stale_ = 0;
  }
  Insert(child);
}

void GeneticAgent::VisitSearch(StateVisitor& v) {
  v.Count("a number of children", stale_);
  v.List("a number of members", population_, 1, 1'000'000, [&](ScoredPlacement& member) {
    VisitScored(v, member);
  });
  islands_.VisitState(v);
}

}  // namespace emplace
