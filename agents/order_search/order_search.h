#pragma once

// Search that improves the placement and the issue order in turn.
//
// In stream semantics every device and channel works in the order in which ops are issued, so that
// this order is a second decision besides the placement. The search keeps one placement x and one
// order o. Its first step evaluates the placements named by `start` in the evaluator's own order
// and in the order by upward rank, and begins at the best pair. A round then proposes `batch` moves
// (agents/shared/moves.h) of x and makes the best of them unless it is worse, `batches` times; then
// it proposes `orders` orders for x, and takes the best of them unless it is worse. An order is
// that of IssueOrder() (framework/schedule/issue_order.h) for one of these priorities, in turn:
//
//   rank       rank(v) = c(v, x(v)) + max over the readers r of v's outputs of (t + rank(r)),
//              t = the transfer time if v and r are on different devices in x, else 0
//   noise      rank(v) * (1 + s z), z standard normal, ln s uniform in [ln 0.003, ln 0.3]
//   forward    the current order, but a random op and its predecessors move forward by up to 2^U
//              positions, with U uniform and 2^U at most half of all ops
//
// After `patience` rounds without improvement the search restarts from the best pair, with each
// group moved with probability `perturbation` (doubled each time, as in hill_climb.h). If there is
// no issue order (queue semantics, hardware), only placements are searched.
//
// Ends only when no group has a choice and there is no order; otherwise the budget ends it.
//
// Ranks: HEFT (Topcuoglu et al. 2002), with the costs of the current placement.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"
#include "framework/search/outcome_table.h"

namespace emplace {

class StateVisitor;

struct OrderSearchConfig {
  std::vector<std::string> start = SearchStarts();
  int batch = 32;
  int batches = 32;
  int orders = 6;
  int patience = 40;
  double perturbation = 0.02;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("batch", batch, Between(1, 1e6), "moves proposed together");
    v.Field("batches", batches, Between(1, 1e9), "batches of moves before orders are proposed");
    v.Field("orders", orders, Between(1, 1e6), "orders proposed together");
    v.Field("patience", patience, Between(1, 1e9), "rounds without improvement before a restart");
    v.Field(
        "perturbation",
        perturbation,
        Between(0, 1),
        "share of groups moved at a restart; doubles with each restart without a better placement");
    v.Group("moves", "proposed moves", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class OrderSearchAgent final : public Agent {
 public:
  using Config = OrderSearchConfig;
  /// @throws SettingError for an unknown start
  OrderSearchAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return started_ && !has_orders_ && !proposer_.any(); }
  void VisitState(StateVisitor& v) override;

 private:
  /// A placement, its issue order (empty: the evaluator's own), and their score.
  struct Pair {
    Placement placement;
    std::vector<int> order;  // [num_ops] op ids
    Score score;
  };
  void Begin(Evaluator& evaluator);
  void MoveGroups(Evaluator& evaluator);
  void MoveOps(Evaluator& evaluator);
  void Restart(Evaluator& evaluator);
  /// Stores the current pair if it is the best.
  void NoteBest();
  std::vector<std::int64_t> Ranks(const Placement& placement) const;
  std::vector<int> ProposeOrder();

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;  // ends the construction of starts early
  Config config_;
  MoveProposer proposer_;
  Rng rng_;
  bool started_ = false, has_orders_ = false;
  int batches_ = 0;   // since orders were last proposed
  int stale_ = 0;     // rounds since the current pair last improved
  int restarts_ = 0;  // since the best was found
  int proposed_ = 0;  // orders proposed, for all placements
  Pair current_, best_;
  MoveLists candidates_;  // of one step, like their outcomes
  OutcomeTable outcomes_;
};

}  // namespace emplace
