#include "agents/shared/period_levels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "agents/shared/devices.h"
#include "agents/shared/moves.h"

namespace emplace {
namespace {

constexpr int kMostPins = 50;  // larger items say little about clusters
constexpr double kLeastShrink = 0.95;
constexpr int kMostDoublings = 7;        // groups that move together: fewer than 2^7
constexpr int kProposalsPerLook = 4096;  // between checks of the interrupt

// The energy described at Anneal().
class Energy {
 public:
  Energy(const CompiledPeriod& problem, Nanos period)
      : p_(problem), scale_(1.0 / static_cast<double>(std::max<Nanos>(period, 1))) {
    for (const std::int64_t memory : p_.memory) {
      if (memory != kUnlimitedMemory) memory_ += static_cast<double>(memory);
    }
    memory_ = std::max(memory_, 1.0);
  }

  void set_norm(double norm) { norm_ = norm; }
  double operator()(const PeriodTotals& totals) const {
    const double top = static_cast<double>(std::max<Nanos>(totals.period(), 1));
    double sum = 0, missing = 0;
    for (int d = 0; d < p_.num_devices; ++d) {
      sum += Power(static_cast<double>(totals.load[d]) / top);
      missing += static_cast<double>(std::max<std::int64_t>(0, totals.bytes[d] - p_.memory[d]));
    }
    double energy = top * scale_ * std::pow(sum, 1 / norm_);
    if (missing > 0) energy += 0.05 + 20 * missing / memory_;
    return energy;
  }

 private:
  double Power(double base) const { return base < 0.5 ? 0 : std::pow(base, norm_); }

  const CompiledPeriod& p_;
  double scale_, memory_ = 0, norm_ = 8;
};

// Runs one round of clustering. @return [num_groups] label of each group's cluster
std::vector<int> JoinNeighbors(const PeriodLevel& level,
                               std::span<const int> keep_apart,
                               const CoarsenOptions& options,
                               Rng& rng) {
  const Problem& problem = *level.problem;
  const CompiledPeriod& p = level.compiled;
  const std::vector<double> own_cost = MeanCosts(problem);
  const double total = std::accumulate(own_cost.begin(), own_cost.end(), 0.0);
  // Groups without cost get a small weight, so that they do not all join one cluster.
  const double least = std::max(total, 1.0) / (16.0 * p.num_groups);
  std::vector<double> item_time(p.num_items);
  for (int i = 0; i < p.num_items; ++i) {
    double sum = 0;
    for (int c = 0; c < p.num_paths; ++c) {
      sum += static_cast<double>(p.transfer_time[p.times[i] + c]);
    }
    item_time[i] = sum / p.num_paths / static_cast<double>(p.readers_of(i).size());
  }
  std::vector<int> label(p.num_groups);
  std::iota(label.begin(), label.end(), 0);
  std::vector<double> cost = own_cost;
  std::vector<std::uint64_t> allowed;
  for (int g = 0; g < p.num_groups; ++g) allowed.push_back(problem.allowed_devices(g));
  std::vector<bool> joined(p.num_groups, false);
  std::vector<double> rating(p.num_groups, 0);
  std::vector<int> rated;
  int left = p.num_groups;
  for (const int group : RandomOrder(p.num_groups, rng)) {
    if (left <= options.enough) break;
    if (joined[group]) continue;
    const auto rate = [&](int item) {
      if (static_cast<int>(p.readers_of(item).size()) >= kMostPins) return;
      const auto pin = [&](int other) {
        const int at = label[other];
        if (at == group) return;
        if (rating[at] == 0) rated.push_back(at);
        rating[at] += item_time[item] + std::numeric_limits<double>::min();
      };
      pin(p.maker[item]);
      for (const int reader : p.readers_of(item)) pin(reader);
    };
    for (int i = p.made_begin[group]; i < p.made_begin[group + 1]; ++i) rate(i);
    for (const int item : p.read_by(group)) {
      if (item < p.num_items) rate(item);
    }
    int best = -1;
    double best_rating = 0;
    for (const int at : rated) {
      const double weighed = rating[at] / std::max(cost[at], least);
      rating[at] = 0;
      if ((allowed[at] & allowed[group]) == 0) continue;
      if (!keep_apart.empty() && keep_apart[at] != keep_apart[group]) continue;
      if (cost[at] + cost[group] > options.max_cost) continue;
      if (weighed > best_rating || best < 0) {
        best = at;
        best_rating = weighed;
      }
    }
    rated.clear();
    if (best < 0) continue;
    label[group] = best;
    joined[group] = joined[best] = true;
    cost[best] += cost[group];
    allowed[best] &= allowed[group];
    --left;
  }
  return label;
}

}  // namespace

PeriodLevel::PeriodLevel(std::shared_ptr<const Problem> of_problem)
    : problem(std::move(of_problem)), compiled(*problem) {
}

std::unique_ptr<PeriodLevel> Contract(const Problem& problem, std::span<const int> label) {
  auto level = std::make_unique<PeriodLevel>(MergeGroups(problem, label));
  for (int group = 0; group < problem.num_groups(); ++group) {
    const int op = problem.grouping().members(group)[0];
    level->cluster_of.push_back(level->problem->grouping().group_of(op));
  }
  return level;
}

std::vector<std::shared_ptr<const PeriodLevel>> Coarsen(std::shared_ptr<const PeriodLevel> finest,
                                                        std::span<const int> keep_apart,
                                                        const CoarsenOptions& options,
                                                        Rng& rng) {
  std::vector<std::shared_ptr<const PeriodLevel>> levels{std::move(finest)};
  std::vector<int> apart(keep_apart.begin(), keep_apart.end());
  while (levels.back()->problem->num_groups() > options.enough) {
    const PeriodLevel& level = *levels.back();
    const std::vector<int> label = JoinNeighbors(level, apart, options, rng);
    std::unique_ptr<PeriodLevel> next = Contract(*level.problem, label);
    if (next->problem->num_groups() > kLeastShrink * level.problem->num_groups()) break;
    if (!apart.empty()) {
      std::vector<int> coarse(next->problem->num_groups());
      for (std::size_t g = 0; g < apart.size(); ++g) coarse[next->cluster_of[g]] = apart[g];
      apart = std::move(coarse);
    }
    levels.push_back(std::move(next));
  }
  return levels;
}

Score ScoreOf(const PeriodTotals& totals, const CompiledPeriod& problem) {
  Score score{0, totals.period()};
  for (int d = 0; d < problem.num_devices; ++d) {
    score.deficit += std::max<std::int64_t>(0, totals.bytes[d] - problem.memory[d]);
  }
  return score;
}

void Anneal(const CompiledPeriod& problem,
            const PeriodAnnealing& options,
            std::vector<DeviceIndex>& device,
            Rng& rng,
            const Interrupt& interrupt) {
  const CompiledPeriod& p = problem;
  std::vector<int> movable;
  for (int g = 0; g < p.num_groups; ++g) {
    if (std::popcount(p.problem.allowed_devices(g)) > 1) movable.push_back(g);
  }
  if (movable.empty()) return;
  PeriodState state(p);
  state.SetTo(device);
  Score best = ScoreOf(state.totals(), p);
  Energy energy(p, state.totals().period());
  const auto draw = [&](int count) {
    return static_cast<int>(rng() % static_cast<unsigned>(count));
  };
  // Draws the target of a group: that of a group it exchanges an item with, or any device.
  const auto draw_aim = [&](int group) {
    const int made = p.made_begin[group + 1] - p.made_begin[group];
    const int degree = p.degree(group);
    if (degree > 0 && draw(8) != 0) {
      const int i = draw(degree);
      const int item = i < made ? p.made_begin[group] + i : p.read_by(group)[i - made];
      const auto readers = p.readers_of(item);
      const int pin = item < p.num_items ? draw(static_cast<int>(readers.size()) + 1) - 1
                                         : draw(static_cast<int>(readers.size()));
      const int aim = state.device()[pin < 0 ? p.maker[item] : readers[pin]];
      if (aim != state.device()[group] && p.problem.allowed(group, aim)) return aim;
    }
    std::uint64_t mask =
        p.problem.allowed_devices(group) & ~(std::uint64_t{1} << state.device()[group]);
    for (int skip = draw(std::popcount(mask)); skip > 0; --skip) mask &= mask - 1;
    return std::countr_zero(mask);
  };

  const std::span<const int> order = p.problem.group_order();
  std::vector<int> position(p.num_groups);
  for (int i = 0; i < p.num_groups; ++i) position[order[i]] = i;
  std::vector<Move> moves;
  double here = 0, temperature = 0;
  for (std::int64_t i = 0; i < options.proposals; ++i) {
    if (i % kProposalsPerLook == 0) interrupt.Check();
    if (i % 256 == 0) {
      const double share = static_cast<double>(i) / static_cast<double>(options.proposals);
      temperature = options.hot * std::pow(options.cold / options.hot, share);
      energy.set_norm(options.norm_hot * std::pow(options.norm_cold / options.norm_hot, share));
      here = energy(state.totals());
    }
    const int group = movable[draw(static_cast<int>(movable.size()))];
    const DeviceIndex from = state.device()[group];
    const auto aim = static_cast<DeviceIndex>(draw_aim(group));
    moves.assign(1, {group, aim});
    const int kind = draw(12);
    if (kind < 2) {  // swap with another group
      const int other = movable[draw(static_cast<int>(movable.size()))];
      if (state.device()[other] == aim && p.problem.allowed(other, from)) {
        moves.push_back({other, from});
      }
    } else if (kind == 2) {  // move with the groups after or before it in topological order
      const int step = draw(2) == 0 ? 1 : -1;
      const int end = position[group] + step * (1 << draw(kMostDoublings));
      for (int i = position[group] + step; i != end && i >= 0 && i < p.num_groups; i += step) {
        const int other = order[i];
        if (state.device()[other] == from && p.problem.allowed(other, aim)) {
          moves.push_back({other, aim});
        }
      }
    }
    const PeriodTotals& totals = state.Try(moves);
    const double there = energy(totals);
    if (there > here && Uniform01(rng) >= std::exp((here - there) / temperature)) {
      state.Undo();
      continue;
    }
    state.Keep();
    here = there;
    if (const Score score = ScoreOf(state.totals(), p); score < best) {
      best = score;
      device = state.device();
    }
  }
}

}  // namespace emplace
