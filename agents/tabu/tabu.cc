#include "agents/tabu/tabu.h"

#include <algorithm>
#include <limits>

namespace emplace {

TabuAgent::TabuAgent(const AgentContext& context, const Config& config)
    : LocalSearchAgent("tabu", context, config.start),
      config_(config),
      proposer_(*context.problem, config.moves, "moves") {
}

void TabuAgent::Forget() {
  step_ = stale_ = 0;
  tabu_until_.assign(std::size_t(problem().num_groups()) * problem().num_devices(), 0);
}

void TabuAgent::Begin(const std::vector<ScoredPlacement>&) {
  Forget();
}

void TabuAgent::Adopted() {
  current() = best();
  Forget();
}

bool TabuAgent::IsTabu(std::span<const Move> moves) {
  return std::ranges::any_of(moves, [&](Move move) { return tabu_until(move) > step_; });
}

void TabuAgent::Improve(Evaluator& evaluator) {
  if (stale_ == config_.patience) {
    Adopted();
  }
  ++step_;
  ++stale_;
  candidates_.moves().Clear();
  for (int i = 0; i < config_.candidates; ++i) {
    proposer_.Propose(rng(), current().placement, candidates_.moves());
  }
  candidates_.Evaluate(current().placement, evaluator);
  const Neighbors neighbors = candidates_.moves().Of(current().placement);
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t chosen = kNone;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Score score = candidates_.score(i);
    if (chosen != kNone && score >= candidates_.score(chosen)) continue;
    if (score < best().score || !IsTabu(neighbors.of(i))) chosen = i;
  }
  if (chosen == kNone) return;
  for (const Move move : neighbors.of(chosen)) {
    const Move back{move.group, current().placement.device[move.group]};
    tabu_until(back) = step_ + 1 + config_.tenure + UniformInt(rng(), config_.tenure + 1);
  }
  candidates_.MoveTo(chosen, current());
  if (Note(current())) stale_ = 0;
}

void TabuAgent::VisitSearch(StateVisitor& v) {
  if (v.reading()) Forget();
  v.Count("a number of steps", step_);
  v.Count("a number of steps", stale_);
  const auto size = static_cast<int>(tabu_until_.size());
  std::vector<int> tabus;
  for (int i = 0; i < size; ++i) {
    if (tabu_until_[i] > step_) tabus.push_back(i);
  }
  v.List("a number of tabus", tabus, [&](int& i) {
    v.Int("a tabu", i, 0, size - 1);
    v.Count("the end of a tabu", tabu_until_[i]);
  });
}

}  // namespace emplace
