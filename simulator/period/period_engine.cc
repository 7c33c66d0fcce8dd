#include "simulator/period/period_engine.h"

#include <algorithm>
#include <span>

#include "framework/placement/placement.h"
#include "simulator/period/period.h"

namespace emplace {

PeriodEngine::PeriodEngine(const CompiledPeriod& problem)
    : p_(problem), base_(problem), moved_device_(problem.num_groups) {
}

void PeriodEngine::Run(const DeviceIndex* device, const OutcomeDetail& detail, Outcome& outcome) {
  if (detail.channels) {
    const Placement placement{{device, device + p_.num_groups}};
    EvaluatePeriod(p_.problem, ExpandPlacement(placement, p_.problem.grouping()), detail, outcome);
    return;
  }
  base_.SumUp(device, totals_);
  outcome.step_time = totals_.period();
  outcome.feasible = true;
  outcome.devices.resize(p_.num_devices);
  for (int d = 0; d < p_.num_devices; ++d) {
    const std::int64_t peak = totals_.bytes[d];
    const std::int64_t deficit = std::max<std::int64_t>(0, peak - p_.memory[d]);
    outcome.devices[d] = {totals_.busy[d], peak, deficit};
    if (deficit > 0) outcome.feasible = false;
  }
  outcome.channels.clear();
  outcome.start.clear();
  outcome.finish.clear();
}

void PeriodEngine::Write(const PeriodTotals& totals,
                         std::size_t i,
                         const OutcomeColumns& columns) const {
  const auto num_devices = static_cast<std::size_t>(p_.num_devices);
  if (!columns.step_time.empty()) {
    columns.step_time[i] = totals.period();
  }
  if (!columns.deficit.empty()) {
    std::int64_t deficit = 0;
    for (std::size_t d = 0; d < num_devices; ++d) {
      deficit += std::max<std::int64_t>(0, totals.bytes[d] - p_.memory[d]);
    }
    columns.deficit[i] = deficit;
  }
  if (!columns.peak.empty()) std::ranges::copy(totals.bytes, &columns.peak[i * num_devices]);
  if (!columns.busy.empty()) std::ranges::copy(totals.busy, &columns.busy[i * num_devices]);
}

void PeriodEngine::RunRow(const DeviceIndex* device, std::size_t i, const OutcomeColumns& columns) {
  base_.SumUp(device, totals_);
  Write(totals_, i, columns);
}

void PeriodEngine::RunNeighbors(const Neighbors& neighbors,
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
      std::ranges::copy(base_.device(), moved_device_.begin());
      for (const Move& move : moves) moved_device_[move.group] = move.device;
      RunRow(moved_device_.data(), i, columns);
      continue;
    }
    Write(base_.Try(moves), i, columns);
    base_.Undo();
  }
}

}  // namespace emplace
