#pragma once

// Multilevel search with recombination, for the period objective.
//
// A step makes one placement. It coarsens the problem (agents/shared/period_levels.h), anneals on
// the coarsest level, and then on each finer level from the result of the coarser one. The first
// `population` steps begin with the best contiguous split (max_load_dp/chain_split.h) of the
// coarsest level, which differs from step to step; the very first step begins with that of the
// finest level. Each further step takes two placements a, b of the population, and never joins
// groups that are on different devices in a or in b. Both are therefore placements of the coarsest
// level, too, and the step begins there with the better one. In one of four steps b is a. One of
// six such steps instead anneals the best placement on the finest level alone, four times as long
// and from a low temperature. The result replaces a member of equal score, else the worst member if
// the result is not worse.
//
// Annealing makes `effort` proposals per group and level, from 20,000 to 500,000. Deterministic for
// a seed; each step takes one evaluation of the budget. Ends only when no group has a choice.
//
// References: G. Karypis, V. Kumar, Multilevel k-way Hypergraph Partitioning, VLSI Design 11
// (2000); R. Andre, S. Schlag, C. Schulz, Memetic Multilevel Hypergraph Partitioning, GECCO 2018
// (recombination).

#include <cstdint>
#include <memory>
#include <vector>

#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/period_levels.h"
#include "framework/config/fields.h"

namespace emplace {

struct PeriodMultilevelConfig {
  int population = 8;
  int effort = 200;
  void Visit(FieldVisitor& v) {
    v.Field(
        "population", population, Between(2, 1e6), "placements that are kept for recombination");
    v.Field("effort", effort, Between(1, 1e6), "proposals of the annealing per group and level");
  }
};

class PeriodMultilevelAgent final : public LocalSearchAgent {
 public:
  using Config = PeriodMultilevelConfig;
  PeriodMultilevelAgent(const AgentContext& context, const Config& config);

 private:
  void Begin(const std::vector<ScoredPlacement>& found) override { population_ = found; }
  void Improve(Evaluator& evaluator) override;
  void Adopted() override { Add(best()); }
  void VisitSearch(StateVisitor& v) override;
  /// @param start  placement of the problem; empty: a split of the coarsest level
  Placement Refine(std::span<const int> keep_apart, const Placement& start, double hot);
  Placement Create();
  Placement Recombine();
  Placement AnnealBest();
  std::int64_t Proposals(int num_groups) const;
  void Add(ScoredPlacement member);

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;
  Config config_;
  double total_cost_ = 0;  // of all groups, mean over their devices [ns]
  std::shared_ptr<const PeriodLevel> finest_;
  std::vector<ScoredPlacement> population_;
};

}  // namespace emplace
