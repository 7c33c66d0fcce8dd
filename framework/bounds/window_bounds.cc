#include "framework/bounds/window_bounds.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "framework/bounds/work_bound.h"

namespace emplace {

WindowBounds::WindowBounds(const DelayGraph& graph)
    : graph_(graph),
      num_devices_(graph.num_devices()),
      ops_(graph.problem().num_groups()),
      least_head_(graph.num_ops()),
      least_tail_(graph.num_ops()) {
  for (int op = 0; op < graph.num_ops(); ++op) ops_[graph.group(op)].push_back(op);
  const Cluster& cluster = graph.problem().cluster();
  for (int d = 0; d < num_devices_; ++d) most_gap_ = std::max(most_gap_, cluster.kind_of(d).gap);
}

Nanos WindowBounds::Bound(DeviceMasks& masks, Nanos target, WindowParts parts) {
  Nanos bound = 0;
  for (bool changed = true; changed && bound <= target;) {
    changed = false;
    SetPaths(graph_, masks, finish_, tail_);
    bound = std::max(bound, Paths(masks, target, changed));
    if (changed || bound > target) continue;
    if (parts >= WindowParts::kGroups) bound = std::max(bound, Groups(masks, target, changed));
    if (changed || bound > target) continue;
    bound = std::max(bound, Devices(masks));
  }
  if (parts >= WindowParts::kWork && bound <= target) bound = std::max(bound, Work(masks));
  return bound;
}

Nanos WindowBounds::Paths(DeviceMasks& masks, Nanos target, bool& changed) {
  Nanos bound = 0;
  for (int op = 0; op < graph_.num_ops(); ++op) {
    bound = std::max(bound, KeepFitting(masks[graph_.group(op)], target, changed, [&](int d) {
                       return finish(op, d) + tail(op, d);
                     }));
    if (bound > target) return bound;
  }
  return bound;
}

Nanos WindowBounds::Groups(DeviceMasks& masks, Nanos target, bool& changed) {
  Nanos bound = 0;
  for (int g = 0; g < std::ssize(masks); ++g) {
    if (std::has_single_bit(masks[g]) || ops_[g].size() == 1) continue;
    bound = std::max(bound, KeepFitting(masks[g], target, changed, [&](int d) {
                       jobs_.clear();
                       for (int op : ops_[g]) AddJob(op, d);
                       return OneMachineBound(jobs_, graph_.problem().cluster().device(d).slots);
                     }));
    if (bound > target) return bound;
  }
  return bound;
}

Nanos WindowBounds::Devices(const DeviceMasks& masks) {
  Nanos bound = 0;
  for (int d = 0; d < num_devices_; ++d) {
    jobs_.clear();
    for (int g = 0; g < std::ssize(masks); ++g) {
      if (masks[g] != std::uint64_t{1} << d) continue;
      for (int op : ops_[g]) AddJob(op, d);
    }
    bound = std::max(bound, OneMachineBound(jobs_, graph_.problem().cluster().device(d).slots));
  }
  return bound;
}

void WindowBounds::AddJob(int op, int device) {
  const Nanos cost = graph_.cost(op)[device];
  if (cost == 0) return;
  jobs_.push_back(JobOf(finish(op, device), cost, graph_.gap(op, device), tail(op, device)));
}

Nanos WindowBounds::Work(const DeviceMasks& masks) {
  for (int op = 0; op < graph_.num_ops(); ++op) {
    least_head_[op] = least_tail_[op] = kMaxNanos;
    for (std::uint64_t rest = masks[graph_.group(op)]; rest; rest &= rest - 1) {
      const int d = std::countr_zero(rest);
      least_head_[op] = std::min(least_head_[op], finish(op, d) - graph_.cost(op)[d]);
      least_tail_[op] = std::min(least_tail_[op], tail(op, d));
    }
  }
  std::vector<int> set(graph_.num_ops());
  std::iota(set.begin(), set.end(), 0);
  constexpr int kMostSets = 6;
  Nanos bound = 0;
  for (int round = 0; round < kMostSets && !set.empty(); ++round) {
    Nanos head = kMaxNanos, tail = kMaxNanos;
    for (int op : set) {
      head = std::min(head, least_head_[op]);
      tail = std::min(tail, least_tail_[op]);
    }
    const WorkBound work = BoundWork(graph_.problem().cluster(), CostsOfGroups(masks, set));
    const Nanos time = work.time - most_gap_;  // the last gap of a device may be beyond the end
    if (head + time + tail <= bound) break;
    bound = head + time + tail;
    set = CriticalSet(masks, work.price);
  }
  return bound;
}

// Returns the costs of the ops of each group in the set. [groups that have ops there, num_devices]
std::vector<Nanos> WindowBounds::CostsOfGroups(const DeviceMasks& masks,
                                               std::span<const int> set) const {
  std::vector<int> row_of(masks.size(), -1);
  std::vector<Nanos> costs;
  for (int op : set) {
    const int group = graph_.group(op);
    int& row = row_of[group];
    if (row < 0) {
      row = static_cast<int>(costs.size()) / num_devices_;
      for (int d = 0; d < num_devices_; ++d) costs.push_back(masks[group] >> d & 1 ? 0 : kMaxNanos);
    }
    for (int d = 0; d < num_devices_; ++d) {
      Nanos& sum = costs[size_t(row) * num_devices_ + d];
      sum = std::min(kMaxNanos, sum + graph_.cost(op)[d] + graph_.gap(op, d));
    }
  }
  return costs;
}

// Returns the set with the largest bound if the time of an op is its cost at the least price.
std::vector<int> WindowBounds::CriticalSet(const DeviceMasks& masks,
                                           std::span<const double> price) {
  jobs_.clear();
  for (int op = 0; op < graph_.num_ops(); ++op) {
    double least = kMaxNanos;
    for (std::uint64_t rest = masks[graph_.group(op)]; rest; rest &= rest - 1) {
      const int d = std::countr_zero(rest);
      const Nanos busy = graph_.cost(op)[d] + graph_.gap(op, d);
      least = std::min(least, price[d] * static_cast<double>(busy));
    }
    jobs_.push_back({least_head_[op], static_cast<Nanos>(least), least_tail_[op]});
  }
  const JobSet critical = CriticalJobs(jobs_);
  std::vector<int> set;
  for (int op = 0; op < graph_.num_ops(); ++op) {
    if (least_head_[op] >= critical.head && least_tail_[op] >= critical.tail) set.push_back(op);
  }
  return set;
}

Nanos BoundByWindows(const DelayGraph& graph, int steps, Nanos known, Nanos proved) {
  WindowBounds windows(graph);
  const DeviceMasks all = AllowedDevices(graph.problem());
  const auto bound = [&](Nanos target) {
    DeviceMasks masks = all;
    return windows.Bound(masks, target, WindowParts::kWork);
  };
  Nanos low = bound(kMaxNanos);
  if (steps > 0 && proved > low) {
    if (bound(proved) <= proved) return proved;
    low = proved + 1;
  }
  // Tests first whether the known placement is optimal.
  Nanos high = std::min(known - 1, 4 * low);
  for (Nanos target = high; steps > 0 && low <= high; target = low + (high - low) / 2, --steps) {
    if (bound(target) > target) {
      low = target + 1;
    } else {
      high = target - 1;
    }
  }
  return low;
}

}  // namespace emplace
