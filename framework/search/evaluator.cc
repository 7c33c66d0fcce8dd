#include "framework/search/evaluator.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "framework/base/error.h"
#include "framework/base/parallel.h"

namespace emplace {

std::int64_t Outcome::deficit() const {
  std::int64_t total = 0;
  for (const DeviceOutcome& device : devices) total += device.deficit;
  return total;
}

bool Better(const Outcome& a, const Outcome& b) {
  if (a.feasible != b.feasible) return a.feasible;
  if (!a.feasible && a.deficit() != b.deficit()) return a.deficit() < b.deficit();
  return a.step_time < b.step_time;
}

Score ScoreOf(const Outcome& outcome) {
  return {outcome.deficit(), outcome.step_time};
}

std::size_t IndexOfBest(std::span<const Score> scores) {
  return std::ranges::min_element(scores) - scores.begin();
}

OutcomeColumns PartOfColumns(const OutcomeColumns& columns,
                             std::size_t first,
                             std::size_t count,
                             std::size_t num_devices) {
  const auto part = [&](auto column, std::size_t width) {
    return column.empty() ? column : column.subspan(first * width, count * width);
  };
  return {part(columns.step_time, 1),
          part(columns.deficit, 1),
          part(columns.peak, num_devices),
          part(columns.busy, num_devices)};
}

void WriteColumns(std::span<const Outcome> from, const OutcomeColumns& to, std::size_t first) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t row = first + i, num_devices = from[i].devices.size();
    if (!to.step_time.empty()) to.step_time[row] = from[i].step_time;
    if (!to.deficit.empty()) to.deficit[row] = from[i].deficit();
    for (std::size_t d = 0; d < num_devices; ++d) {
      if (!to.peak.empty()) to.peak[row * num_devices + d] = from[i].devices[d].peak;
      if (!to.busy.empty()) to.busy[row * num_devices + d] = from[i].devices[d].busy;
    }
  }
}

void Evaluator::EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) {
  std::vector<Placement> copies(placements.num_placements);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    copies[i].device.assign(placements.row(i), placements.row(i) + placements.num_groups);
  }
  WriteColumns(Evaluate(copies), outcomes);
}

bool Evaluator::SetIssueOrder(std::span<const int> /*order*/) {
  return false;
}

std::vector<Evaluator*> Evaluator::ConcurrentEvaluators(int /*count*/) {
  return {this};
}

void Evaluator::RunConcurrently(std::span<const ConcurrentSearch> searches) {
  const int count = static_cast<int>(searches.size());
  if (count == 0) return;
  std::vector<Evaluator*> idle = ConcurrentEvaluators(count);
  std::mutex mutex;
  const auto give_back = [&](Evaluator* evaluator) {
    const std::lock_guard lock(mutex);
    idle.push_back(evaluator);
  };
  ParallelFor(count, static_cast<int>(idle.size()), [&](int i) {
    std::unique_lock lock(mutex);
    const std::unique_ptr<Evaluator, decltype(give_back)> evaluator(idle.back(), give_back);
    idle.pop_back();
    lock.unlock();
    searches[i].run(*evaluator);
  });
}

void Evaluator::EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) {
  std::vector<Placement> copies(neighbors.size());
  for (std::size_t i = 0; i < copies.size(); ++i) neighbors.Apply(i, copies[i].device);
  WriteColumns(Evaluate(copies), outcomes);
}

std::vector<Score> Evaluator::Scores(std::span<const Placement> placements) {
  const std::size_t count = placements.size(), num_groups = problem().num_groups();
  std::vector<DeviceIndex> rows;
  rows.reserve(count * num_groups);
  for (const Placement& placement : placements) {
    EMPLACE_CHECK(placement.device.size() == num_groups);
    rows.insert(rows.end(), placement.device.begin(), placement.device.end());
  }
  std::vector<Nanos> step_time(count);
  std::vector<std::int64_t> deficit(count);
  EvaluateRows({rows.data(), count, num_groups}, {.step_time = step_time, .deficit = deficit});
  std::vector<Score> scores(count);
  for (std::size_t i = 0; i < count; ++i) scores[i] = {deficit[i], step_time[i]};
  return scores;
}

std::vector<Outcome> Evaluator::Evaluate(std::span<const Placement> placements,
                                         const OutcomeDetail& detail) {
  std::vector<Outcome> outcomes(placements.size());
  Evaluate(placements, outcomes, detail);
  return outcomes;
}

Outcome Evaluator::Evaluate(const Placement& placement, const OutcomeDetail& detail) {
  Outcome outcome;
  Evaluate({&placement, 1}, {&outcome, 1}, detail);
  return outcome;
}

}  // namespace emplace
