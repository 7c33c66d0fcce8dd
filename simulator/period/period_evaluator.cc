#include "simulator/period/period_evaluator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/search/compiled_period.h"
#include "simulator/engine/placement_check.h"
#include "simulator/period/period_engine.h"

namespace emplace {
namespace {

// Least number of neighbours for which starting a thread pays: each takes some microseconds.
constexpr std::size_t kNeighborsPerThread = 16;

class PeriodEvaluator final : public Evaluator {
 public:
  PeriodEvaluator(std::shared_ptr<const Problem> problem, int threads)
      : problem_(std::move(problem)),
        compiled_(*problem_),
        check_(*problem_),
        engines_(threads, PeriodEngine(compiled_)) {}

  const Problem& problem() const override { return *problem_; }

  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail) override {
    EMPLACE_CHECK(placements.size() == outcomes.size());
    for (const Placement& placement : placements) {
      check_.Size(placement.device.size());
      check_(placement.device.data());
    }
    ForParts(placements.size(), 1, [&](PeriodEngine& engine, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        engine.Run(placements[i].device.data(), detail, outcomes[i]);
      }
    });
  }

  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override {
    const std::size_t count = placements.num_placements;
    check_.Size(placements.num_groups);
    for (std::size_t i = 0; i < count; ++i) check_(placements.row(i));
    ForParts(count, 1, [&](PeriodEngine& engine, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) engine.RunRow(placements.row(i), i, outcomes);
    });
  }

  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override {
    check_.Base(neighbors);
    if (!check_.all_routes()) {  // each neighbour is checked as a whole
      Evaluator::EvaluateNeighbors(neighbors, outcomes);
      return;
    }
    ForParts(neighbors.size(),
             kNeighborsPerThread,
             [&](PeriodEngine& engine, std::size_t begin, std::size_t end) {
               engine.RunNeighbors(neighbors, begin, end, outcomes);
             });
  }

  std::vector<Evaluator*> Abreast(int count) override {
    std::vector<Evaluator*> evaluators;
    for (int i = 0; i < std::min<int>(count, static_cast<int>(engines_.size())); ++i) {
      if (i == std::ssize(abreast_)) abreast_.push_back(MakePeriodEvaluator(problem_, 1));
      evaluators.push_back(abreast_[i].get());
    }
    return evaluators;
  }

 private:
  // Calls run(engine, begin, end) for each thread's part of a batch. @param least  of a part, about
  template <class Run>
  void ForParts(std::size_t size, std::size_t least, const Run& run) {
    const std::size_t parts = std::min(engines_.size(), (size + least - 1) / least);
    ParallelFor(static_cast<int>(parts), static_cast<int>(parts), [&](int part) {
      run(engines_[part], size * part / parts, size * (part + 1) / parts);
    });
  }

  const std::shared_ptr<const Problem> problem_;
  const CompiledPeriod compiled_;
  PlacementCheck check_;
  std::vector<PeriodEngine> engines_;                // one per thread
  std::vector<std::unique_ptr<Evaluator>> abreast_;  // of one thread each
};

}  // namespace

std::unique_ptr<Evaluator> MakePeriodEvaluator(std::shared_ptr<const Problem> problem,
                                               int threads) {
  EMPLACE_CHECK(threads >= 1);
  return std::make_unique<PeriodEvaluator>(std::move(problem), threads);
}

}  // namespace emplace
