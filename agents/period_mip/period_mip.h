#pragma once

// Exact minimisation of the period, with a proven bound at any time: by the sets of groups that one
// device can have, then by branch and bound over the mixed-integer program of the placements
// (framework/bounds/period_bound.h).
//
// The first `warm_steps` steps are steps of the multilevel search
// (period_multilevel/period_multilevel.h). The last step proves bounds by cuts and spreading, and
// then by sets of devices, whose solutions are rounded and evaluated. It then searches the
// mixed-integer program exhaustively: each group in turn on each of its devices, expensive groups
// first, and only one of several interchangeable devices without a group. The solution of every
// node is rounded and evaluated, unless it equals the previous one. The search thus notices the end
// of the budget.
//
// The program contains only placements that are better than the best known one by more than a share
// of 1e-7. When the search finishes, the best placement is therefore optimal within that share, and
// bound() reports it. If routes or memory prevent this proof, bound() is smaller.
//
// Sets of devices solve some hundred groups of layers or operators exactly (agents/RESULTS.md). The
// last step can only be saved when it is complete.

#include <memory>

#include "agents/period_multilevel/period_multilevel.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"

namespace emplace {

struct PeriodMipConfig {
  int warm_steps = 16;
  PeriodMultilevelConfig warm;
  void Visit(FieldVisitor& v) {
    v.Field("warm_steps",
            warm_steps,
            Between(1, 1e9),
            "steps of the multilevel search before the proof");
    v.Group(
        "warm", "settings of the multilevel search", [this](FieldVisitor& g) { warm.Visit(g); });
  }
};

class PeriodMipAgent final : public Agent {
 public:
  using Config = PeriodMipConfig;
  PeriodMipAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return finished_; }
  Nanos bound() const override { return bound_; }
  void VisitState(StateVisitor& v) override;

 private:
  void Prove(Evaluator& evaluator);

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;
  Config config_;
  PeriodMultilevelAgent warm_;
  int warm_steps_ = 0;
  bool finished_ = false;
  Nanos bound_ = 0;  // [ns]
};

}  // namespace emplace
