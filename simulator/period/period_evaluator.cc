// The fast implementation of the period objective (README.md, "The second objective: pipelined
// steps"). Loads and bytes are sums over groups and items, so the evaluation of a neighbour visits
// only the items of the groups that move.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"
#include "simulator/engine/placement_check.h"
#include "simulator/period/period.h"

namespace emplace {
namespace {

// One engine per thread. An evaluation of rows or neighbours allocates no memory.
//
// The engine keeps a base from call to call. A neighbour of the same base, or a new base near the
// old one, costs O(degree of the groups that move).
class PeriodEngine {
 public:
  // @param problem  outlives the engine
  explicit PeriodEngine(const CompiledPeriod& problem)
      : p_(problem), base_(problem), moved_device_(problem.num_groups) {}

  // Evaluates one placement and sets every field of `outcome`; there are no op times.
  // @param device  [num_groups] all allowed, with every route that they need
  void Run(const DeviceIndex* device, const OutcomeDetail& detail, Outcome& outcome) {
    if (detail.channels) {
      const Placement placement{{device, device + p_.num_groups}};
      EvaluatePeriod(
          p_.problem, ExpandPlacement(placement, p_.problem.grouping()), detail, outcome);
      return;
    }
    base_.SumUp(device, totals_);
    outcome.step_time = totals_.period();
    outcome.feasible = true;
    outcome.devices.resize(p_.num_devices);
    for (int d = 0; d < p_.num_devices; ++d) {
      outcome.devices[d] = {totals_.busy[d], totals_.bytes[d], Deficit(totals_, d)};
      if (outcome.devices[d].deficit > 0) outcome.feasible = false;
    }
    outcome.channels.clear();
    outcome.start.clear();
    outcome.finish.clear();
  }

  // Writes row `i` of the columns.
  void RunRow(const DeviceIndex* device, std::size_t i, const OutcomeColumns& columns) {
    base_.SumUp(device, totals_);
    Write(totals_, i, columns);
  }

  // Writes the rows `begin` .. `end - 1` of the columns for these neighbours.
  void RunNeighbors(const Neighbors& neighbors,
                    std::size_t begin,
                    std::size_t end,
                    const OutcomeColumns& columns) {
    if (begin == end) return;
    base_.SetTo(neighbors.base.device);
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<const Move> moves = neighbors.of(i);
      std::int64_t degree = 0;
      for (const Move& move : moves) degree += p_.degree(move.group);
      if (2 * degree >= p_.total_degree) {
        neighbors.Apply(i, moved_device_);
        RunRow(moved_device_.data(), i, columns);
        continue;
      }
      Write(base_.Try(moves), i, columns);
      base_.Undo();
    }
  }

 private:
  std::int64_t Deficit(const PeriodTotals& totals, int d) const {
    return std::max<std::int64_t>(0, totals.bytes[d] - p_.memory[d]);
  }
  void Write(const PeriodTotals& totals, std::size_t i, const OutcomeColumns& columns) const {
    const auto num_devices = static_cast<std::size_t>(p_.num_devices);
    if (!columns.step_time.empty()) columns.step_time[i] = totals.period();
    if (!columns.deficit.empty()) {
      std::int64_t deficit = 0;
      for (int d = 0; d < p_.num_devices; ++d) deficit += Deficit(totals, d);
      columns.deficit[i] = deficit;
    }
    if (!columns.peak.empty()) std::ranges::copy(totals.bytes, &columns.peak[i * num_devices]);
    if (!columns.busy.empty()) std::ranges::copy(totals.busy, &columns.busy[i * num_devices]);
  }

  const CompiledPeriod& p_;
  PeriodState base_;
  PeriodTotals totals_;                    // of one evaluation
  std::vector<DeviceIndex> moved_device_;  // [num_groups]
};

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

  std::vector<Evaluator*> ConcurrentEvaluators(int count) override {
    std::vector<Evaluator*> evaluators;
    for (int i = 0; i < std::min<int>(count, static_cast<int>(engines_.size())); ++i) {
      if (i == std::ssize(concurrent_)) concurrent_.push_back(MakePeriodEvaluator(problem_, 1));
      evaluators.push_back(concurrent_[i].get());
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
  std::vector<PeriodEngine> engines_;                   // one per thread
  std::vector<std::unique_ptr<Evaluator>> concurrent_;  // of one thread each
};

}  // namespace

std::unique_ptr<Evaluator> MakePeriodEvaluator(std::shared_ptr<const Problem> problem,
                                               int threads) {
  EMPLACE_CHECK(threads >= 1);
  return std::make_unique<PeriodEvaluator>(std::move(problem), threads);
}

}  // namespace emplace
