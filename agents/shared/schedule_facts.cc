#include "agents/shared/schedule_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <tuple>

namespace emplace {

ScheduleFacts::ScheduleFacts(const Problem& problem)
    : problem_(problem),
      output_offsets_(problem.num_ops() + 1),
      position_(problem.num_ops()),
      by_finish_(problem.num_ops()) {
  constexpr std::int64_t kMany = std::int64_t{1} << 30;  // makes rounding negligible [B]
  const Cluster& cluster = problem.cluster();
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      const auto fixed = static_cast<double>(cluster.TransferTime(from, to, 0));
      const auto many = static_cast<double>(cluster.TransferTime(from, to, kMany));
      route_.push_back({fixed, (many - fixed) / static_cast<double>(kMany)});
    }
  }
  const OpInputs inputs(problem.graph());
  for (int v = 0; v < problem.num_ops(); ++v) {
    for (const OpInput& input : inputs[v]) ++output_offsets_[input.op + 1];
  }
  std::partial_sum(output_offsets_.begin(), output_offsets_.end(), output_offsets_.begin());
  outputs_.resize(output_offsets_.back());
  std::vector<int> next = output_offsets_;
  for (int v = 0; v < problem.num_ops(); ++v) {
    for (const OpInput& input : inputs[v]) {
      outputs_[next[input.op]++] = {v, static_cast<double>(input.bytes)};
    }
  }
  const auto order = problem.graph().topological_order();
  for (int i = 0; i < problem.num_ops(); ++i) position_[order[i]] = i;
  std::iota(by_finish_.begin(), by_finish_.end(), 0);
}

double ScheduleFacts::TransferTime(int from, int to, double bytes) const {
  const Route& route = route_[from * problem_.num_devices() + to];
  return route.fixed + route.per_byte * bytes;
}

double ScheduleFacts::Duration(const Outcome& outcome, int op) const {
  return static_cast<double>(outcome.finish[op] - outcome.start[op]);
}

void ScheduleFacts::Set(const Placement& placement, const Outcome& outcome) {
  placement_ = placement;
  step_time_ = static_cast<double>(std::max<Nanos>(1, outcome.step_time));
  group_.assign(problem_.num_groups(), {});
  device_.assign(problem_.num_devices(), {});
  work_.assign(std::size_t(problem_.num_devices()) * (kBins + 1), 0);
  for (int d = 0; d < problem_.num_devices(); ++d) {
    const Device& device = problem_.cluster().device(d);
    const DeviceOutcome& of = outcome.devices[d];
    device_[d].load = static_cast<double>(of.busy) / step_time_ / device.slots;
    if (device.memory != kUnlimitedMemory && device.memory > 0) {
      device_[d].memory = static_cast<double>(of.peak) / static_cast<double>(device.memory);
    }
    device_[d].deficit = of.deficit > 0;
  }
  if (outcome.finish.empty()) return;
  SetSlacks(outcome);
  SetWaits(outcome);
}

void ScheduleFacts::SetSlacks(const Outcome& outcome) {
  // A reader does not finish before its producers, and it comes later in topological order.
  std::ranges::sort(by_finish_, std::greater(), [&](int v) {
    return std::tuple(outcome.finish[v], outcome.start[v], position_[v]);
  });
  latest_.assign(problem_.num_ops(), step_time_);
  std::vector<double> next_start(problem_.num_devices(), step_time_);
  for (const int v : by_finish_) {
    const int d = DeviceOf(v);
    const double duration = Duration(outcome, v);
    double latest = step_time_;
    for (int i = output_offsets_[v]; i < output_offsets_[v + 1]; ++i) {
      const auto [reader, bytes] = outputs_[i];
      latest = std::min(
          latest,
          latest_[reader] - Duration(outcome, reader) - TransferTime(d, DeviceOf(reader), bytes));
    }
    if (duration > 0 && problem_.cluster().device(d).slots == 1) {
      latest = std::min(latest, next_start[d]);
      next_start[d] = latest - duration;
    }
    latest_[v] = latest;
    GroupFacts& group = group_[problem_.grouping().group_of(v)];
    const double start = static_cast<double>(outcome.start[v]) / step_time_;
    const double finish = static_cast<double>(outcome.finish[v]) / step_time_;
    group.start = std::min(group.start, start);
    group.end = std::max(group.end, finish);
    if (duration == 0) continue;
    const double slack = std::max(0.0, latest / step_time_ - finish);
    group.slack = std::min(group.slack, slack);
    if (slack < kCriticalSlack) group.critical += finish - start;
    AddWork(d, start, finish);
  }
  for (int d = 0; d < problem_.num_devices(); ++d) {
    const auto begin = work_.begin() + d * (kBins + 1);
    std::partial_sum(begin, begin + kBins + 1, begin);
  }
}

void ScheduleFacts::AddWork(int device, double start, double end) {
  double* const bins = work_.data() + device * (kBins + 1) + 1;
  const double slots = problem_.cluster().device(device).slots;
  const double from = start * kBins, to = end * kBins;
  const int last = std::min(kBins - 1, static_cast<int>(to));
  for (int bin = std::min(kBins - 1, static_cast<int>(from)); bin <= last; ++bin) {
    bins[bin] += std::max(0.0, std::min(to, bin + 1.0) - std::max<double>(from, bin)) / slots;
  }
}

void ScheduleFacts::SetWaits(const Outcome& outcome) {
  ready_.assign(problem_.num_ops(), 0);
  for (const int v : problem_.graph().topological_order()) {
    const int d = DeviceOf(v);
    const auto finish = static_cast<double>(outcome.finish[v]);
    for (int i = output_offsets_[v]; i < output_offsets_[v + 1]; ++i) {
      const auto [reader, bytes] = outputs_[i];
      ready_[reader] = std::max(ready_[reader], finish + TransferTime(d, DeviceOf(reader), bytes));
    }
    if (outcome.finish[v] == outcome.start[v]) continue;
    const double wait = static_cast<double>(outcome.start[v]) - ready_[v];
    group_[problem_.grouping().group_of(v)].wait += std::max(0.0, wait) / step_time_;
  }
}

double ScheduleFacts::Busy(int device, double from, double to) const {
  const double* const bins = work_.data() + device * (kBins + 1);
  const auto until = [&](double time) {
    const double at = std::clamp(time, 0.0, 1.0) * kBins;
    const int bin = std::min(kBins - 1, static_cast<int>(at));
    return bins[bin] + (at - bin) * (bins[bin + 1] - bins[bin]);
  };
  return (until(to) - until(from)) / kBins;
}

}  // namespace emplace
