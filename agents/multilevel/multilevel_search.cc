#include "agents/multilevel/multilevel_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "agents/multilevel/levels.h"
#include "agents/shared/devices.h"
#include "agents/shared/local_search/counted_evaluator.h"

namespace emplace {
namespace {

constexpr double kLargest = 4;         // of a coarse group, relative to their mean
constexpr double kLengthening = 1.5;   // of the effort from cycle to cycle
constexpr double kWorthwhile = 0.001;  // improvement for which the search of a level continues

}  // namespace

MultilevelSearch::MultilevelSearch(std::string name,
                                   const AgentContext& context,
                                   std::vector<std::string> start,
                                   int coarsest,
                                   std::int64_t effort,
                                   int flat_cycles)
    : LocalSearchAgent(std::move(name), context, std::move(start)),
      problem_(context.problem),
      coarsest_(coarsest),
      effort_(effort),
      flat_cycles_(flat_cycles) {
}

void MultilevelSearch::BuildLevels() {
  const std::vector<double> costs = MeanCosts(*problem_);
  const double cost = std::accumulate(costs.begin(), costs.end(), 0.0);
  Rng rng = merging_;
  levels_.assign(1, problem_);
  if (cycle_ < flat_cycles_) return;
  while (levels_.back()->num_groups() > coarsest_) {
    const Placement placement = Coarsen(first_, *problem_, *levels_.back());
    auto coarser = CoarserProblem(
        *levels_.back(), cycle_ == 0 ? nullptr : &placement, kLargest * cost / coarsest_, rng);
    if (coarser == nullptr) break;
    levels_.push_back(std::move(coarser));
  }
}

void MultilevelSearch::Improve(Evaluator& evaluator) {
  const bool coarsest = left_ == 0;
  if (coarsest) {
    merging_ = rng();
    first_ = best().placement;
    BuildLevels();
    left_ = static_cast<int>(levels_.size());
    if (cycle_ > 0) current() = best();
  }
  const std::shared_ptr<const Problem> level = levels_[left_ - 1];
  CountedEvaluator counted(evaluator);
  LevelEvaluator levelled(counted, *level);
  const auto effort =
      static_cast<std::int64_t>(static_cast<double>(effort_) * std::pow(kLengthening, cycle_));
  const std::unique_ptr<LocalSearchAgent> search =
      SearchOf({level, rng()(), interrupt(), {}}, effort);
  if (coarsest && cycle_ == 0) {
    search->Step(levelled);
  } else {
    search->Adopt({Coarsen(current().placement, *problem_, *level), current().score});
  }
  Score before;
  do {
    before = search->best().score;
    const std::int64_t end = counted.count() + effort;
    while (counted.count() < end && !search->Finished()) search->Step(levelled);
  } while (!search->Finished() && !Within(before, search->best().score, kWorthwhile));
  current() = {Refine(search->best().placement, *level, *problem_), search->best().score};
  Note(current());
  if (--left_ == 0) ++cycle_;
}

void MultilevelSearch::VisitSearch(StateVisitor& v) {
  v.Count("a number of cycles", cycle_);
  v.Count("a number of levels", left_);
  if (left_ == 0) return;
  v.Generator(merging_);
  v.Devices(first_);
  if (v.reading()) BuildLevels();
  if (left_ > static_cast<int>(levels_.size())) {
    v.Fail("expected at most the number of levels of the groups");
  }
}

}  // namespace emplace
