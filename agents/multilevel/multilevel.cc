#include "agents/multilevel/multilevel.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "agents/common/coarsening.h"
#include "agents/improvement/counted_evaluator.h"
#include "agents/multilevel/levels.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr double kLargest = 4;         // groups of the coarsest level, against their mean
constexpr double kLengthening = 1.5;   // of cycles
constexpr double kWorthwhile = 0.001;  // improvement for which a level is searched on

}  // namespace

MultilevelAgent::MultilevelAgent(const AgentContext& context, const Config& config)
    : ImprovementAgent("multilevel", context, config.start),
      problem_(context.problem),
      config_(config) {
  RequireRange("coarsest", config.coarsest, 1, 1e9);
  RequireRange("effort", static_cast<double>(config.effort), 1, 1e12);
}

void MultilevelAgent::BuildLevels() {
  const std::vector<double> costs = MeanCosts(*problem_);
  const double cost = std::accumulate(costs.begin(), costs.end(), 0.0);
  Rng rng = merging_;
  levels_.assign(1, problem_);
  while (levels_.back()->num_groups() > config_.coarsest) {
    const Placement placement = Coarsen(first_, *problem_, *levels_.back());
    auto coarser = CoarserProblem(*levels_.back(),
                                  cycle_ == 0 ? nullptr : &placement,
                                  kLargest * cost / config_.coarsest,
                                  rng);
    if (coarser == nullptr) break;
    levels_.push_back(std::move(coarser));
  }
}

void MultilevelAgent::Improve(Evaluator& evaluator) {
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
  const auto effort = static_cast<std::int64_t>(static_cast<double>(config_.effort) *
                                                std::pow(kLengthening, cycle_));
  LargeNeighborhoodAgent search({level, rng()(), interrupt()},
                                {.start = config_.start, .cycle = effort});
  if (coarsest && cycle_ == 0) {
    search.Step(levelled);
  } else {
    search.Adopt({Coarsen(current().placement, *problem_, *level), current().score});
  }
  Score before;
  do {
    before = search.best().score;
    const std::int64_t end = counted.count() + effort;
    while (counted.count() < end && !search.Finished()) search.Step(levelled);
  } while (!search.Finished() && !Within(before, search.best().score, kWorthwhile));
  current() = {Refine(search.best().placement, *level, *problem_), search.best().score};
  Note(current());
  if (--left_ == 0) ++cycle_;
}

void MultilevelAgent::SaveSearch(StateWriter& writer) const {
  writer.Int(cycle_);
  writer.Int(left_);
  if (left_ == 0) return;
  writer.Generator(merging_);
  writer.Devices(first_);
}

void MultilevelAgent::LoadSearch(StateReader& reader) {
  cycle_ = static_cast<int>(reader.Count("a number of cycles"));
  left_ = static_cast<int>(reader.Count("a number of levels"));
  if (left_ == 0) return;
  reader.Generator(merging_);
  first_ = reader.Devices();
  BuildLevels();
  if (left_ > static_cast<int>(levels_.size())) {
    reader.Fail("expected at most as many levels as the groups have");
  }
}

}  // namespace emplace
