#pragma once

// Tabu search with a random candidate list.
//
// A step proposes `candidates` moves (agents/shared/moves.h) from the current placement, evaluates
// them together, and makes the best one that is not tabu, even if it is worse. A group that leaves
// a device may not return there for tenure + U steps, U uniform in [0, tenure]: a candidate is tabu
// if any of its moves is. Aspiration: a candidate better than the best placement so far is never
// tabu. If all candidates are tabu, the placement does not change. After `patience` steps without a
// better placement the search returns to the best one and clears the tabu list.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// Reference: F. Glover, Tabu Search, part I, ORSA Journal on Computing 1 (1989); random tenures: E.
// Taillard, Robust Taboo Search for the Quadratic Assignment Problem, Parallel Computing 17 (1991).

#include <cstdint>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/moves.h"
#include "framework/config/fields.h"

namespace emplace {

struct TabuConfig {
  std::vector<std::string> start = SearchStarts();
  int candidates = 32;
  int tenure = 10;
  int patience = 200;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("candidates", candidates, Between(1, 1e6), "moves evaluated per step");
    v.Field("tenure",
            tenure,
            Between(0, 1e9),
            "steps for which a group may not return to its old device; drawn up to twice as large");
    v.Field("patience",
            patience,
            Between(1, 1e9),
            "steps without a better placement before the search returns to the best one");
    v.Group("moves", "proposed moves", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class TabuAgent final : public LocalSearchAgent {
 public:
  using Config = TabuConfig;
  /// @throws SettingError for an unknown start
  TabuAgent(const AgentContext& context, const Config& config);

 private:
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  void Improve(Evaluator& evaluator) override;
  /// Sets the current placement to the best one and clears the tabu list.
  void Adopted() override;
  void VisitSearch(StateVisitor& v) override;
  /// Clears the tabu list.
  void Forget();
  std::int64_t& tabu_until(Move move) {
    return tabu_until_[std::size_t(move.group) * problem().num_devices() + move.device];
  }
  bool IsTabu(std::span<const Move> moves);

  Config config_;
  MoveProposer proposer_;
  std::int64_t step_ = 0;                 // since the tabu list was cleared
  std::int64_t stale_ = 0;                // steps since a better placement was found
  std::vector<std::int64_t> tabu_until_;  // [num_groups, num_devices] first step allowed
  NeighborBatch candidates_;
};

}  // namespace emplace
