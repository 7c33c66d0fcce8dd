#include "agents/multilevel/levels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "agents/shared/devices.h"
#include "agents/shared/moves.h"
#include "framework/search/compiled_period.h"

namespace emplace {
namespace {

constexpr double kFree = 0.01;  // share of the mean that is added to costs and bytes
constexpr double kLeastShrinking = 0.05;

double MeanEdgeBytes(const Problem& problem) {
  double bytes = 0, edges = 0;
  for (int g = 0; g < problem.num_groups(); ++g) {
    for (const Problem::Edge& edge : problem.neighbors(g)) {
      bytes += static_cast<double>(edge.bytes);
      ++edges;
    }
  }
  return edges > 0 ? bytes / edges : 0;
}

// Returns the group of `other` that contains group `group` of `problem`.
int GroupIn(const Problem& other, const Problem& problem, int group) {
  return other.grouping().group_of(problem.grouping().members(group)[0]);
}

}  // namespace

std::shared_ptr<const Problem> CoarserProblem(const Problem& problem,
                                              const Placement* placement,
                                              double limit,
                                              Rng& rng) {
  const int num_groups = problem.num_groups();
  std::vector<double> cost = MeanCosts(problem);  // of each cluster
  const double some_cost = kFree * std::accumulate(cost.begin(), cost.end(), 1.0) / num_groups;
  const double some_bytes = kFree * MeanEdgeBytes(problem) + 1;
  std::vector<std::uint64_t> allowed(num_groups);
  std::vector<int> cluster(num_groups), size(num_groups, 1);
  std::iota(cluster.begin(), cluster.end(), 0);
  for (int g = 0; g < num_groups; ++g) allowed[g] = problem.allowed_devices(g);

  int left = num_groups;
  for (const int g : RandomOrder(num_groups, rng)) {
    if (cluster[g] != g || size[g] > 1) continue;
    int best = -1;
    double best_rating = 0;
    for (const Problem::Edge& edge : problem.neighbors(g)) {
      const int other = cluster[edge.neighbor];
      if (placement != nullptr && placement->device[g] != placement->device[other]) continue;
      if ((allowed[g] & allowed[other]) == 0 || cost[g] + cost[other] > limit) continue;
      const double bytes = static_cast<double>(edge.bytes) + some_bytes;
      const double rating = bytes * bytes / ((cost[g] + some_cost) * (cost[other] + some_cost));
      if (rating > best_rating) {
        best_rating = rating;
        best = other;
      }
    }
    if (best < 0) continue;
    cluster[g] = best;
    cost[best] += cost[g];
    allowed[best] &= allowed[g];
    ++size[best];
    --left;
  }
  if (left > (1 - kLeastShrinking) * num_groups) return nullptr;
  return MergeGroups(problem, cluster);
}

Placement Refine(const Placement& placement, const Problem& coarse, const Problem& fine) {
  Placement refined;
  for (int g = 0; g < fine.num_groups(); ++g) {
    refined.device.push_back(placement.device[GroupIn(coarse, fine, g)]);
  }
  return refined;
}

Placement Coarsen(const Placement& placement, const Problem& fine, const Problem& coarse) {
  Placement coarsened;
  for (int g = 0; g < coarse.num_groups(); ++g) {
    coarsened.device.push_back(placement.device[GroupIn(fine, coarse, g)]);
  }
  return coarsened;
}

LevelEvaluator::LevelEvaluator(Evaluator& fine, const Problem& coarse)
    : ForwardingEvaluator(fine), coarse_(coarse) {
  const Problem& problem = fine.problem();
  std::vector<int> group(problem.num_groups());
  members_.offsets.assign(coarse.num_groups() + 1, 0);
  for (int g = 0; g < problem.num_groups(); ++g) {
    group[g] = GroupIn(coarse, problem, g);
    ++members_.offsets[group[g] + 1];
  }
  std::partial_sum(members_.offsets.begin(), members_.offsets.end(), members_.offsets.begin());
  std::vector<int> next(members_.offsets.begin(), members_.offsets.end() - 1);
  members_.values.resize(problem.num_groups());
  for (int g = 0; g < problem.num_groups(); ++g) members_.values[next[group[g]]++] = g;
}

void LevelEvaluator::Evaluate(std::span<const Placement> placements,
                              std::span<Outcome> outcomes,
                              const OutcomeDetail& detail) {
  placements_.clear();
  for (const Placement& placement : placements) {
    placements_.push_back(Refine(placement, coarse_, inner().problem()));
  }
  inner().Evaluate(placements_, outcomes, detail);
}

void LevelEvaluator::EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) {
  const auto num_groups = static_cast<std::size_t>(inner().problem().num_groups());
  rows_.resize(placements.num_placements * num_groups);
  for (std::size_t i = 0; i < placements.num_placements; ++i) {
    for (int coarse = 0; coarse < coarse_.num_groups(); ++coarse) {
      for (const int group : members_[coarse]) {
        rows_[i * num_groups + group] = placements.row(i)[coarse];
      }
    }
  }
  inner().EvaluateRows({rows_.data(), placements.num_placements, num_groups}, outcomes);
}

void LevelEvaluator::RunConcurrently(std::span<const ConcurrentSearch> searches) {
  std::vector<ConcurrentSearch> levelled(searches.begin(), searches.end());
  for (std::size_t i = 0; i < searches.size(); ++i) {
    levelled[i].run = [this, &search = searches[i]](Evaluator& evaluator) {
      LevelEvaluator own(evaluator, coarse_);
      search.run(own);
    };
  }
  inner().RunConcurrently(levelled);
}

void LevelEvaluator::EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) {
  begin_.assign(1, 0);
  moves_.clear();
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    for (const Move move : neighbors.of(i)) {
      for (const int group : members_[move.group]) moves_.push_back({group, move.device});
    }
    begin_.push_back(static_cast<int>(moves_.size()));
  }
  const Placement base = Refine(neighbors.base, coarse_, inner().problem());
  inner().EvaluateNeighbors({base, begin_, moves_}, outcomes);
}

}  // namespace emplace
