#pragma once

// The period, exactly: branch and bound over the mixed-integer programme of the placements
// (framework/bounds/period_bound.h), with a proven bound at any time.
//
// The first `warm_steps` steps are steps of the multilevel search
// (period_multilevel/period_multilevel.h). The next step, the last one, proves bounds by cuts and
// by spreading and then searches the programme until all is decided: each group in turn on each of
// its devices, dear ones first, interchangeable devices without a group only once. Every node's
// solution is rounded and evaluated if it was not before, so that better placements and the end of
// the budget are found on the way.
//
// The programme is only of placements that are better than the best known one by more than a share
// of 1e-7: then the search is finished, the best placement is optimal within that share, and
// bound() says so. Where routes or memory leave no such proof, bound() is less.
//
// Exact for tens of groups; for hundreds the bounds by cuts and spreading are what counts. The last
// step cannot be saved half done.

#include <memory>

#include "agents/period_multilevel/period_multilevel.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"

namespace emplace {

struct PeriodMipConfig {
  int warm_steps = 16;
  PeriodMultilevelConfig warm;
  void Visit(FieldVisitor& v) {
    v.Field("warm_steps", warm_steps, Between(1, 1e9), "steps of multilevel search before");
    v.Group("warm", "that search", [this](FieldVisitor& g) { warm.Visit(g); });
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
