#include "agents/period_mip/period_mip.h"

#include <algorithm>
#include <span>
#include <utility>

#include "framework/bounds/device_cuts.h"
#include "framework/bounds/device_sets.h"
#include "framework/bounds/lower_bound.h"
#include "framework/bounds/mip.h"
#include "framework/bounds/period_bound.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/spreading.h"
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
  const auto [start, start_score] = warm_.best();
  const Nanos most = MostPeriod(CompiledPeriod(*problem_));
  Nanos known = start_score.deficit == 0 ? std::max<Nanos>(1, start_score.step_time) : most;
  const auto raise = [&](Nanos bound) {
    bound_ = std::max(bound_, std::min(bound, known));
    return bound_ >= known;
  };
  raise(ProveBound(*problem_).value);
  // Evaluates the start regularly, so that a search without new placements notices the end of the
  // budget, too.
  int looks = 0;
  const auto stop = [&] {
    interrupt_.Check();
    if (++looks % kLooksPerEvaluation == 0) evaluator.Evaluate(start);
    return false;
  };
  ProveByCuts(*problem_, std::max<Nanos>(1, bound_), known, stop, raise);
  if (bound_ >= known) return;
  const std::shared_ptr<const Problem> merged = MergeInseparable(*problem_, known, stop);
  const CompiledPeriod compiled(*merged);
  ProveSpreading(compiled, known, stop, raise);
  if (bound_ >= known) return;
  const auto evaluate = [&](std::span<const DeviceIndex> device) {
    const Score score = evaluator.ScoreAt(OfMergedGroups(device, *merged, *problem_));
    if (!score.feasible()) return kMaxNanos;
    known = std::min(known, std::max<Nanos>(1, score.step_time));
    return score.step_time;
  };
  ProveByDeviceSets(compiled,
                    std::max<Nanos>(1, bound_),
                    known,
                    {.stop = stop, .told = raise, .found = evaluate});
  if (bound_ >= known) return;

  const PeriodProgramme programme(compiled, known);
  if (std::ranges::any_of(programme.columns, [](const auto& choice) { return choice.empty(); })) {
    raise(known);  // some group has no device that allows a smaller period
    return;
  }
  Placement last = start;
  const double proven = BranchAndBound(
      programme.model,
      {.choices = programme.columns,
       .weight = programme.weight,
       .branches = [&](int group,
                       std::span<const int> decided) { return programme.Branches(group, decided); },
       .stop = stop,
       .cutoff = [&] { return programme.Cutoff(known); },
       .found =
           [&](std::span<const double> solution, bool) {
             Placement placement =
                 OfMergedGroups(programme.Round(solution).device, *merged, *problem_);
             if (placement.device == last.device) return;
             const Score score = evaluator.ScoreAt(placement);
             if (score.feasible()) known = std::min(known, std::max<Nanos>(1, score.step_time));
             last = std::move(placement);
           },
       .improved = [&](double value) { raise(programme.ToNanos(value)); }});
  raise(programme.ToNanos(proven));
}

void PeriodMipAgent::VisitState(StateVisitor& v) {
  v.Begin("period_mip", *problem_);
  v.Int("a number of steps", warm_steps_, 0, config_.warm_steps);
  v.Flag(finished_);
  v.Amount("a bound", bound_);
  warm_.VisitState(v);
}

}  // namespace emplace
