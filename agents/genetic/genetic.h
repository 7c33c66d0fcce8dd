#pragma once

// Genetic algorithm with local improvement (a memetic algorithm).
//
// The initial population consists of the placements named by `start` and, up to `population`,
// perturbations of the best of them, in which each group moves with a probability of 2^-4, 2^-5,
// ... 2^-8 in turn. A step makes one child:
//
// - crossover: two parents, each the best of `tournament` random members, are crossed
//   (crossover.h);
// - mutation: the best of the child and `batch` - 1 proposals from it (agents/shared/moves.h)
//   replaces the child;
// - improvement: `climbs` times, the best of `batch` proposals replaces the child if it is not
//   worse.
//
// The child replaces a member with the same score, else the worst member if the child is not worse.
// After `patience` children without a better placement, all members but the best are replaced by
// perturbations again.
//
// With several `islands` each has its own population. A step is then a round of all islands
// (improvement/islands.h), and a placement from the neighbouring island joins the population.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// Reference: P. Moscato, On Evolution, Search, Optimization, Genetic Algorithms and Martial Arts:
// Towards Memetic Algorithms, Caltech C3P report 826, 1989.

#include <cstdint>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/local_search/islands.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/moves.h"
#include "framework/config/fields.h"

namespace emplace {

struct GeneticConfig {
  std::vector<std::string> start = SearchStarts();
  int population = 12;
  int tournament = 2;
  int batch = 16;
  int climbs = 8;
  int patience = 500;
  int islands = 1;
  std::int64_t exchange = 8192;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, "initial placements of the population");
    v.Field("population", population, Between(2, 1e6), "placements in the population");
    v.Field("tournament",
            tournament,
            Between(1, 1e6),
            "members drawn for each parent, the best of which becomes it");
    v.Field("batch", batch, Between(2, 1e6), "proposals evaluated together");
    v.Field("climbs", climbs, Between(0, 1e6), "batches of local improvement of each child");
    v.Field("patience",
            patience,
            Between(1, 1e9),
            "children without a better placement before the population starts again");
    v.AddedField("islands", islands, 1, kIslandsRange, kIslandsHelp);
    v.AddedField("exchange", exchange, std::int64_t{8192}, kExchangeRange, kExchangeHelp);
    v.Group("moves", "proposed moves", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class GeneticAgent final : public LocalSearchAgent {
 public:
  using Config = GeneticConfig;
  /// @throws SettingError for an unknown start
  GeneticAgent(const AgentContext& context, const Config& config);

 private:
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  void Improve(Evaluator& evaluator) override;
  void Adopted() override;
  void VisitSearch(StateVisitor& v) override;
  /// Adds perturbations of the best placement until the population is complete.
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
