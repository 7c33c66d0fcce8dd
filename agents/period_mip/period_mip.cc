#include "agents/period_mip/period_mip.h"

#include <algorithm>

#include "framework/bounds/lower_bound.h"
#include "framework/bounds/period_bound.h"
#include "framework/bounds/period_methods.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

constexpr int kLooksPerEvaluation = 5;  // calls of `stop` per evaluation of the start

}  // namespace

PeriodMipAgent::PeriodMipAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      interrupt_(context.end_construction),
      config_(config),
      warm_(context, config.warm) {
}

void PeriodMipAgent::Step(Evaluator& evaluator) {
  if (finished_) return;
  if (warm_steps_ < config_.warm_steps && !warm_.Finished()) {
    warm_.Step(evaluator);
    ++warm_steps_;
    return;
  }
  Prove(evaluator);
  finished_ = true;
}

void PeriodMipAgent::Prove(Evaluator& evaluator) {
  const auto [start, score] = warm_.best();
  const Nanos known = score.feasible() ? std::max<Nanos>(1, score.step_time)
                                       : MostPeriod(CompiledPeriod(*problem_));
  bound_ = std::min(known, ProveBound(*problem_).value);
  // Evaluates the start regularly, so that a search without new placements notices the end of the
  // budget, too.
  int looks = 0;
  const auto stop = [&](PeriodMethod) {
    interrupt_.Check();
    if (++looks % kLooksPerEvaluation == 0) evaluator.Evaluate(start);
    return false;
  };
  const auto found = [&](const Placement& placement) {
    const Score of = evaluator.ScoreAt(placement);
    return of.feasible() ? of.step_time : kMaxNanos;
  };
  ProveByPeriodMethods(*problem_,
                       {.least = std::max<Nanos>(1, bound_),
                        .known = known,
                        .stop = stop,
                        .told = [&](Nanos bound, PeriodMethod) { bound_ = bound; },
                        .found = found});
}

void PeriodMipAgent::VisitState(StateVisitor& v) {
  v.Begin("period_mip", *problem_);
  v.Int("a number of steps", warm_steps_, 0, config_.warm_steps);
  v.Flag(finished_);
  v.Amount("a bound", bound_);
  warm_.VisitState(v);
}

}  // namespace emplace
