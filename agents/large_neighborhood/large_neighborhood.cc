#include "agents/large_neighborhood/large_neighborhood.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "agents/shared/devices.h"

namespace emplace {
namespace {

constexpr int kGreedyWindow = 4, kExactWindow = 8, kExactBatches = 4;
constexpr double kReaction = 0.1, kLeastWeight = 0.05;

// Ways to search: each kind of window with each of these repairs, and moves as the last one.
enum Repair { kTogether, kList, kGreedy, kExact };
constexpr int kNumRepairs = 4;
constexpr int kNumWays = kNumWindowKinds * kNumRepairs + 1;

}  // namespace

LargeNeighborhoodAgent::LargeNeighborhoodAgent(const AgentContext& context, const Config& config)
    : LocalSearchAgent("large_neighborhood", context, config.start),
      config_(config),
      proposer_(*context.problem, config.moves, "moves"),
      windows_(*context.problem),
      gains_(kNumWays, 0),
      batches_(kNumWays, 1),
      cycle_(config.cycle) {
}

void LargeNeighborhoodAgent::EvaluateBatch(const Placement& base, Evaluator& evaluator) {
  batch_.Evaluate(base, evaluator);
  evaluations_ += static_cast<std::int64_t>(batch_.size());
  found_.placement = base;
  batch_.MoveTo(batch_.IndexOfBest(), found_);
}

void LargeNeighborhoodAgent::EvaluateAndCombine(Evaluator& evaluator) {
  EvaluateBatch(current().placement, evaluator);
  std::vector<std::size_t> better;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (batch_.score(i) < current().score) better.push_back(i);
  }
  if (better.size() < 2) return;
  std::ranges::stable_sort(better, {}, [&](std::size_t i) { return batch_.score(i); });
  const Neighbors neighbors = batch_.moves().Of(current().placement);
  combined_.moves().Clear();
  for (std::size_t count = 2;; count = std::min(2 * count, better.size())) {
    // If two candidates move the same group, the move of the better one counts.
    for (std::size_t i = count; i > 0; --i) {
      for (const Move move : neighbors.of(better[i - 1])) {
        combined_.moves().Add(move.group, move.device);
      }
    }
    combined_.moves().End();
    if (count == better.size()) break;
  }
  combined_.Evaluate(current().placement, evaluator);
  evaluations_ += static_cast<std::int64_t>(combined_.size());
  const std::size_t best = combined_.IndexOfBest();
  if (combined_.score(best) >= found_.score) return;
  found_.placement = current().placement;
  combined_.MoveTo(best, found_);
}

void LargeNeighborhoodAgent::Moves(Evaluator& evaluator) {
  for (int i = 0; i < config_.batch; ++i) {
    proposer_.Propose(rng(), current().placement, batch_.moves());
  }
  EvaluateAndCombine(evaluator);
}

void LargeNeighborhoodAgent::Together(WindowKind kind, Evaluator& evaluator) {
  for (int i = 0; i < config_.batch; ++i) {
    if (!windows_.ProposeTogether(kind, current().placement, rng(), batch_.moves())) {
      proposer_.Propose(rng(), current().placement, batch_.moves());
    }
  }
  EvaluateAndCombine(evaluator);
}

void LargeNeighborhoodAgent::List(WindowKind kind, Evaluator& evaluator) {
  windows_.BeginLists(current().placement);
  for (int i = 0; i < config_.batch; ++i) {
    if (!windows_.ProposeList(kind, config_.window, rng(), batch_.moves())) batch_.moves().End();
  }
  EvaluateAndCombine(evaluator);
}

void LargeNeighborhoodAgent::Greedy(WindowKind kind, Evaluator& evaluator) {
  const Window& window = windows_.DrawWindow(kind, kGreedyWindow, rng());
  ScoredPlacement at = current();
  for (const int group : window.groups) {
    at.placement.device[group] = static_cast<DeviceIndex>(windows_.DrawDevice(group, rng()));
  }
  for (std::size_t left = 2 * window.groups.size(); left > 0; --left) {
    batch_.moves().Clear();
    for (const int group : window.groups) {
      for (int d = 0; d < problem().num_devices(); ++d) {
        if (!problem().allowed(group, d) || d == at.placement.device[group]) continue;
        batch_.moves().Add(group, d);
        batch_.moves().End();
      }
    }
    const bool first = left == 2 * window.groups.size();
    EvaluateBatch(at.placement, evaluator);
    if (!first && found_.score >= at.score) break;
    at = found_;
  }
  found_ = at;
}

void LargeNeighborhoodAgent::Exact(WindowKind kind, Evaluator& evaluator) {
  const Window& window = windows_.DrawWindow(kind, kExactWindow, rng());
  // Frees as many of the window's first groups as have at most `most` placements.
  const std::int64_t most = std::int64_t(kExactBatches) * config_.batch;
  std::int64_t count = 1;
  std::size_t free = 0;
  for (; free < window.groups.size(); ++free) {
    const int choices = std::popcount(problem().allowed_devices(window.groups[free]));
    if (count * choices > most && free > 0) break;
    count *= choices;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t g = 0; g < free; ++g) {
      const int group = window.groups[g];
      std::uint64_t mask = problem().allowed_devices(group);
      const int choices = std::popcount(mask);
      for (auto skip = rest % choices; skip > 0; --skip) mask &= mask - 1;
      rest /= choices;
      batch_.moves().Add(group, FirstDevice(mask));
    }
    batch_.moves().End();
  }
  EvaluateBatch(current().placement, evaluator);
}

int LargeNeighborhoodAgent::DrawWay() {
  const double largest = *std::ranges::max_element(gains_);
  const auto share = [&](int way) {
    return (kLeastWeight + (largest > 0 ? gains_[way] / largest : 0)) / batches_[way];
  };
  double drawn = 0;
  for (int way = 0; way < kNumWays; ++way) drawn += share(way);
  drawn *= Uniform01(rng());
  int way = 0;
  while (way + 1 < kNumWays && drawn >= share(way)) drawn -= share(way++);
  return way;
}

void LargeNeighborhoodAgent::Round(Evaluator& evaluator) {
  const int way = DrawWay();
  const auto kind = static_cast<WindowKind>(way / kNumRepairs);
  evaluations_ = 0;
  batch_.moves().Clear();
  if (way + 1 == kNumWays) {
    Moves(evaluator);
  } else if (way % kNumRepairs == kGreedy) {
    Greedy(kind, evaluator);
  } else if (way % kNumRepairs == kExact) {
    Exact(kind, evaluator);
  } else if (way % kNumRepairs == kList && windows_.any_times()) {
    List(kind, evaluator);
  } else {
    Together(kind, evaluator);
  }
  used_ += evaluations_;
  const double passed = static_cast<double>(used_) / static_cast<double>(cycle_);
  const double slack = config_.threshold * std::max(0.0, 1 - passed);
  double gain = 0;
  if (found_.score.deficit < current().score.deficit) {
    gain = 1;
  } else if (found_.score < current().score) {
    gain = std::log(static_cast<double>(current().score.step_time) /
                    static_cast<double>(std::max<Nanos>(found_.score.step_time, 1)));
  }
  const double batches = static_cast<double>(evaluations_) / config_.batch;
  batches_[way] += kReaction * (batches - batches_[way]);
  gains_[way] += kReaction * (gain / batches - gains_[way]);
  Note(found_);
  if (found_.score <= current().score || Within(found_.score, best().score, slack)) {
    current() = found_;
  }
  if (used_ < cycle_) return;
  cycle_ *= 2;
  used_ = 0;
  current() = best();
}

void LargeNeighborhoodAgent::Improve(Evaluator& evaluator) {
  const Outcome outcome = evaluator.Evaluate(current().placement, {.op_times = true});
  windows_.Set(current().placement, outcome);
  for (int round = 0; round < config_.rounds; ++round) Round(evaluator);
}

void LargeNeighborhoodAgent::VisitSearch(StateVisitor& v) {
  v.Count("a number of evaluations", cycle_);
  v.Count("a number of evaluations", used_);
  for (int way = 0; way < kNumWays; ++way) {
    v.Double("a gain", gains_[way]);
    v.Double("a number of batches", batches_[way]);
  }
}

}  // namespace emplace
