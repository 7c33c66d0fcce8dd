#include "framework/search/outcome_table.h"

#include <algorithm>

namespace emplace {

void ReadOutcome(const OutcomeColumns& columns,
                 std::size_t i,
                 const Problem& problem,
                 Outcome& outcome) {
  const int num_devices = problem.num_devices();
  outcome.step_time = columns.step_time[i];
  outcome.feasible = columns.deficit[i] == 0;
  outcome.devices.resize(num_devices);
  for (int d = 0; d < num_devices; ++d) {
    const Nanos busy = columns.busy[i * num_devices + d];
    const std::int64_t peak = columns.peak[i * num_devices + d];
    const std::int64_t memory = problem.cluster().device(d).memory;
    outcome.devices[d] = {busy, peak, std::max<std::int64_t>(0, peak - memory)};
  }
  outcome.channels.clear();
  outcome.start.clear();
  outcome.finish.clear();
}

OutcomeColumns OutcomeTable::Columns(std::size_t n, const Problem& problem) {
  const std::size_t per_device = n * problem.num_devices();
  step_time_.resize(n);
  deficit_.resize(n);
  peak_.resize(per_device);
  busy_.resize(per_device);
  return {step_time_, deficit_, peak_, busy_};
}

OutcomeColumns OutcomeTable::ScoreColumns(std::size_t n) {
  step_time_.resize(n);
  deficit_.resize(n);
  peak_.clear();
  busy_.clear();
  return {.step_time = step_time_, .deficit = deficit_};
}

std::size_t OutcomeTable::IndexOfBest() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < size(); ++i) {
    if (score(i) < score(best)) best = i;
  }
  return best;
}

}  // namespace emplace
