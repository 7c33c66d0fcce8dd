#include "agents/learned_local_search/ranked_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace emplace {
namespace {

constexpr double kLargestList = 64;  // most groups that are placed by list scheduling
constexpr int kMostPools = 4;        // of a step

// Returns the hash of a set of moves, independent of their order.
std::uint64_t HashOfAll(std::span<const Move> moves) {
  std::uint64_t sum = 0;
  for (const Move& move : moves) sum += HashOf(move);
  return sum;
}

}  // namespace

RankedSearch::RankedSearch(const AgentContext& context,
                           const LearnedLocalSearchConfig& config,
                           std::shared_ptr<const MoveScorer> scorer)
    : LocalSearchAgent("ranked_search", context, config.start),
      config_(config),
      proposer_(*context.problem, config.moves, "moves"),
      windows_(*context.problem),
      features_of_(*context.problem),
      scorer_(std::move(scorer)),
      restarts_(config.perturbation),
      patience_(std::min<std::int64_t>(config.patience, 4 + 3 * proposer_.num_single_moves())) {
}

void RankedSearch::Adopted() {
  current() = best();
  stale_ = 0;
  tried_.clear();
  restarts_.Found();
}

void RankedSearch::MoveTo(std::size_t i) {
  candidates_.MoveTo(i, current());
  tried_.clear();
  if (Note(current())) restarts_.Found();
}

void RankedSearch::SetSchedule(Evaluator& evaluator) {
  const Placement& placement = current().placement;
  const Outcome outcome = evaluator.Evaluate(placement, {.op_times = true});
  windows_.Set(placement, outcome);
  if (scorer_ != nullptr) features_of_.Set(placement, outcome);
}

void RankedSearch::Draw(int count, Rng& rng) {
  const Placement& placement = current().placement;
  pool_.Clear();
  windows_.BeginLists(placement);
  for (int i = 0; i < count; ++i) Propose(rng);
  if (scorer_ == nullptr) return;
  features_.resize(count, MoveFeatures::kCount);
  const Neighbors pool = pool_.Of(placement);
  for (int i = 0; i < count; ++i) {
    features_of_.Write(pool.of(i), {features_.row(i).data(), MoveFeatures::kCount});
  }
}

void RankedSearch::Propose(Rng& rng) {
  const Placement& placement = current().placement;
  const double drawn = Uniform01(rng);
  const auto kind = static_cast<WindowKind>(UniformInt(rng, kNumWindowKinds));
  if (drawn < config_.windows && windows_.ProposeTogether(kind, placement, rng, pool_)) {
    return;
  }
  if (drawn >= config_.windows && drawn < config_.windows + config_.lists && windows_.any_times() &&
      windows_.ProposeList(kind, kLargestList, rng, pool_)) {
    return;
  }
  proposer_.Propose(rng, placement, pool_);
}

std::vector<int> RankedSearch::Ranked() {
  std::vector<int> order(pool_.size());
  std::iota(order.begin(), order.end(), 0);
  if (scorer_ == nullptr) return order;
  std::vector<float> score = scorer_->Score(features_);
  if (config_.temperature > 0) {
    for (float& s : score) {
      const double uniform = std::max(Uniform01(rng()), 1e-300);
      s -= static_cast<float>(config_.temperature * std::log(-std::log(uniform)));
    }
  }
  std::ranges::stable_sort(order, std::greater(), [&](int i) { return score[i]; });
  return order;
}

bool RankedSearch::Changes(std::span<const Move> moves) const {
  return std::ranges::any_of(moves, [&](const Move& move) {
    return current().placement.device[move.group] != move.device;
  });
}

void RankedSearch::Improve(Evaluator& evaluator) {
  if (stale_ >= patience_) {
    Restart(evaluator);
    return;
  }
  SetSchedule(evaluator);
  for (int pool = 0; pool < kMostPools && evaluator.remaining() > 0; ++pool) {
    if (TryPool(evaluator) || stale_ >= patience_) return;
  }
}

bool RankedSearch::TryPool(Evaluator& evaluator) {
  Draw(config_.pool, rng());
  const std::vector<int> order = Ranked();
  const Neighbors pool = pool_.Of(current().placement);
  std::int64_t left = config_.tries;
  bool moved = false;
  std::size_t ranked = 0, drawn = 0;
  const auto next = [&] {
    const double share =
        config_.explore * static_cast<double>(stale_) / static_cast<double>(patience_);
    const bool any = scorer_ != nullptr && drawn < order.size() && Uniform01(rng()) < share;
    return any ? static_cast<int>(drawn++) : order[ranked++];
  };
  while (ranked < order.size() && left > 0) {
    const auto most = std::clamp<std::int64_t>(
        evaluator.remaining(), 1, std::min<std::int64_t>(left, config_.batch));
    MoveLists& batch = candidates_.moves();
    batch.Clear();
    while (ranked < order.size() && std::ssize(batch) < most) {
      const auto moves = pool.of(next());
      if (!Changes(moves) || !tried_.insert(HashOfAll(moves)).second) continue;
      for (const Move& move : moves) batch.Add(move.group, move.device);
      batch.End();
    }
    if (batch.size() == 0) {  // no new move is left to try
      if (left == config_.tries) stale_ = patience_;
      return moved;
    }
    stale_ += static_cast<std::int64_t>(batch.size());
    left -= static_cast<std::int64_t>(batch.size());
    candidates_.Evaluate(current().placement, evaluator);
    const std::size_t best = candidates_.IndexOfBest();
    if (candidates_.score(best) > current().score) continue;
    if (candidates_.score(best) < current().score) stale_ = 0;
    MoveTo(best);
    moved = true;
  }
  return moved;
}

void RankedSearch::Restart(Evaluator& evaluator) {
  current() = best();
  const auto count = std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.batch);
  restarts_.Propose(proposer_, rng(), best().placement, count, candidates_.moves());
  candidates_.Evaluate(current().placement, evaluator);
  MoveTo(candidates_.IndexOfBest());
  stale_ = 0;
}

RankedSearch::Samples RankedSearch::Sample(int count, Evaluator& evaluator, Rng& rng) {
  SetSchedule(evaluator);
  Draw(count, rng);
  NeighborBatch batch;
  batch.moves() = pool_;
  batch.Evaluate(current().placement, evaluator);
  Samples samples{features_, {}};
  const Score here = current().score;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Score there = batch.score(i);
    double gain = static_cast<double>(here.step_time - there.step_time) /
                  static_cast<double>(std::max<Nanos>(1, here.step_time));
    if (there.deficit != here.deficit) gain = there.deficit < here.deficit ? 1 : -1;
    samples.gains.push_back(gain);
  }
  return samples;
}

void RankedSearch::VisitSearch(StateVisitor& v) {
  v.Count("a number of evaluations", stale_);
  restarts_.VisitState(v);
  v.Set("a number of moves", tried_);
}

}  // namespace emplace
