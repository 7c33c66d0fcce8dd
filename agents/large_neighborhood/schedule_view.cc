#include "agents/large_neighborhood/schedule_view.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "agents/shared/devices.h"

namespace emplace {

ScheduleView::ScheduleView(const Problem& problem)
    : problem_(problem), inputs_(problem.graph()), on_device_(problem.num_devices()) {
  std::vector<int> devices(problem.num_devices());
  std::iota(devices.begin(), devices.end(), 0);
  speed_ = DeviceSpeeds(problem, devices);
}

void ScheduleView::Set(const Placement& placement, const Outcome& outcome) {
  start_ = outcome.start;
  finish_ = outcome.finish;
  by_start_.clear();
  critical_.clear();
  idle_.clear();
  idle_until_.clear();
  if (start_.empty()) return;
  const int num_ops = problem_.num_ops();
  for (int v = 0; v < num_ops; ++v) {
    if (finish_[v] > start_[v]) by_start_.push_back(v);
  }
  std::ranges::sort(by_start_, {}, [&](int v) { return std::tuple(start_[v], finish_[v], v); });
  for (auto& ops : on_device_) ops.clear();
  before_.assign(num_ops, -1);
  for (const int v : by_start_) {
    auto& ops = on_device_[placement.device[problem_.grouping().group_of(v)]];
    if (!ops.empty()) before_[v] = ops.back();
    ops.push_back(v);
  }
  FindCritical(placement);
  const Nanos end = std::ranges::max(finish_);
  double sum = 0;
  for (int d = 0; d < problem_.num_devices(); ++d) {
    Nanos free = 0;
    const auto add = [&](Nanos until) {
      if (until <= free) return;
      sum += static_cast<double>(until - free) * speed_[d];
      idle_.push_back({d, free, until});
      idle_until_.push_back(sum);
    };
    for (const int v : on_device_[d]) {
      add(start_[v]);
      free = std::max(free, finish_[v]);
    }
    add(end);
  }
}

void ScheduleView::FindCritical(const Placement& placement) {
  std::vector<char> seen(problem_.num_groups(), 0);
  const auto device_of = [&](int op) { return placement.device[problem_.grouping().group_of(op)]; };
  int v = static_cast<int>(std::ranges::max_element(finish_) - finish_.begin());
  // The loop ends: the previous op on the device starts earlier than v, and a predecessor starts no
  // later and comes earlier in topological order.
  while (v >= 0) {
    const int group = problem_.grouping().group_of(v);
    if (!seen[group] && !std::has_single_bit(problem_.allowed_devices(group))) {
      critical_.push_back(group);
    }
    seen[group] = 1;
    int next = before_[v];
    Nanos latest = next < 0 ? -1 : finish_[next] + problem_.cluster().kind_of(device_of(v)).gap;
    for (const OpInput& input : inputs_[v]) {
      const Nanos arrival = finish_[input.op] + problem_.cluster().TransferTime(
                                                    device_of(input.op), device_of(v), input.bytes);
      if (arrival > latest) {
        latest = arrival;
        next = input.op;
      }
    }
    v = next;
  }
}

ScheduleView::Idle ScheduleView::DrawIdle(Rng& rng) const {
  const double drawn = Uniform01(rng) * idle_until_.back();
  const auto at = std::ranges::upper_bound(idle_until_, drawn) - idle_until_.begin();
  return idle_[std::min<std::size_t>(at, idle_.size() - 1)];
}

Nanos ScheduleView::FreeFrom(int device, Nanos time, const std::vector<char>& ignored) const {
  const auto& ops = on_device_[device];
  const auto behind = std::ranges::upper_bound(ops, time, {}, [&](int v) { return start_[v]; });
  if (behind == ops.begin()) return time;
  const int op = *(behind - 1);
  if (ignored[problem_.grouping().group_of(op)]) return time;
  return std::max(time, finish_[op]);
}

}  // namespace emplace
