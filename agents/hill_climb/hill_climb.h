#pragma once

// Hill climbing with perturbed restarts (iterated local search).
//
// The first step evaluates the placements named by `start` and begins at the best of them. Every
// further step proposes `batch` moves (agents/shared/moves.h) from the current placement x,
// evaluates them together, and moves to
//
//   x' = the best of the batch (accept: best), or the first that is better than x (accept: first),
//
// if Better(x', x): feasible before infeasible, then less memory missing, then less time. With
// `sideways`, the search moves to a candidate as good as x if none is better; this does not count
// as an improvement. After `patience` batches without improvement of x, or after three times as
// many moves as there are moves of single groups if that is earlier, the search restarts: `batch`
// perturbations of the best placement so far (../shared/local_search/perturbed_restarts.h) are
// evaluated, and the best of them becomes x.
//
// With several `islands` as many searches run concurrently, each with its own seed and restarts. A
// step is then a round of all islands (../shared/local_search/islands.h).
//
// Ends only when no group has a choice; otherwise the budget ends it. Memory and time are taken
// only from outcomes, so that the search works with every evaluator.
//
// References: H. R. Lourenco, O. C. Martin, T. Stuetzle, Iterated Local Search, Handbook of
// Metaheuristics, 2003; N. Mladenovic, P. Hansen, Variable Neighborhood Search, Computers and
// Operations Research 24, 1997.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/local_search/islands.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/local_search/perturbed_restarts.h"
#include "agents/shared/moves.h"
#include "framework/config/fields.h"

namespace emplace {

struct HillClimbConfig {
  std::vector<std::string> start = SearchStarts();
  int batch = 4;
  std::string accept = "best";
  bool sideways = true;
  int patience = 100;
  double perturbation = 0.05;
  int islands = 1;
  std::int64_t exchange = 8192;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("batch", batch, Between(1, 1e6), "candidates per step");
    v.Field("accept", accept, "best or first improvement in a batch");
    v.Field("sideways", sideways, "move to an equally good placement if none is better");
    v.Field("patience", patience, Between(1, 1e9), "batches without improvement before a restart");
    v.Field(
        "perturbation",
        perturbation,
        Between(0, 1),
        "share of groups moved at a restart; doubles with each restart without a better placement");
    v.AddedField("islands", islands, 1, kIslandsRange, kIslandsHelp);
    v.AddedField("exchange", exchange, std::int64_t{8192}, kExchangeRange, kExchangeHelp);
    v.Group("moves", "proposed moves", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class HillClimbAgent final : public LocalSearchAgent {
 public:
  using Config = HillClimbConfig;
  /// @throws SettingError for an unknown start or rule
  HillClimbAgent(const AgentContext& context, const Config& config);

 private:
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  void Improve(Evaluator& evaluator) override;
  void Adopted() override;
  void VisitSearch(StateVisitor& v) override;
  void Climb(Evaluator& evaluator);
  void Restart(Evaluator& evaluator);
  /// Makes the i-th candidate the current placement.
  void MoveTo(std::size_t i);

  Config config_;
  MoveProposer proposer_;
  PerturbedRestarts restarts_;
  Islands islands_;
  int patience_ = 0;          // batches; also bounded by the number of single moves
  int stale_ = 0;             // batches since the current placement last improved
  NeighborBatch candidates_;  // of one step
};

}  // namespace emplace
