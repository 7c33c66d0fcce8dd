#pragma once

// A genetic algorithm with local improvement (a memetic one).
//
// The population begins with the placements named by `start` and, up to `population`, perturbations
// of the best of them: each group moved with a probability of 2^-4, 2^-5, ... 2^-8 in turn. A step
// makes one child:
//
// - two parents, each the best of `tournament` random members, are crossed (crossover.h);
// - mutation: of the child itself and `batch` - 1 single proposals from it (common/moves.h) the
//   best is kept;
// - improvement: `climbs` times, the best of `batch` proposals replaces the child if it is no
//   worse.
//
// The child takes the place of a member with the same score, else of the worst one if it is better.
// After `patience` children without a better placement, all but the best member become
// perturbations again.
//
// With several `islands` each has a population of its own; a step is then a round of all of them
// (improvement/islands.h), and what an island gets from its neighbour joins its population.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// Reference: P. Moscato, On Evolution, Search, Optimization, Genetic Algorithms and Martial Arts:
// Towards Memetic Algorithms, Caltech C3P report 826, 1989.

#include <cstdint>
#include <string>
#include <vector>

#include "agents/shared/improvement/improvement_agent.h"
#include "agents/shared/improvement/islands.h"
#include "agents/shared/moves.h"
#include "framework/config/fields.h"

namespace emplace {

struct GeneticConfig {
  std::vector<std::string> start = {"single", "contiguous", "heft", "etf", "random"};
  int population = 12;
  int tournament = 2;
  int batch = 16;
  int climbs = 8;
  int patience = 500;
  int islands = 1;
  std::int64_t exchange = 8192;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, "placements that the population begins with");
    v.Field("population", population, Between(2, 1e6), "placements kept");
    v.Field(
        "tournament", tournament, Between(1, 1e6), "members drawn, of which the best is a parent");
    v.Field("batch", batch, Between(2, 1e6), "proposals evaluated together");
    v.Field("climbs", climbs, Between(0, 1e6), "batches that improve a child");
    v.Field("patience",
            patience,
            Between(1, 1e9),
            "children without a better placement before it begins anew");
    v.AddedField("islands", islands, 1, kIslandsRange, kIslandsHelp);
    v.AddedField("exchange", exchange, std::int64_t{8192}, kExchangeRange, kExchangeHelp);
    v.Group("moves", "what is proposed", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class GeneticAgent final : public ImprovementAgent {
 public:
  using Config = GeneticConfig;
  /// @throws SettingError for an unknown start
  GeneticAgent(const AgentContext& context, const Config& config);

 private:
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  void Improve(Evaluator& evaluator) override;
  void Adopted() override;
  void VisitSearch(StateVisitor& v) override;
  /// Perturbations of the best placement join until the population is complete.
  void Fill(Evaluator& evaluator);
  const ScoredPlacement& DrawParent();
  void Insert(const ScoredPlacement& child);

  Config config_;
  MoveProposer proposer_;
  Islands islands_;
  std::vector<ScoredPlacement> population_;
  int stale_ = 0;  // children since a better placement was found
  NeighborBatch batch_;
};

}  // namespace emplace
