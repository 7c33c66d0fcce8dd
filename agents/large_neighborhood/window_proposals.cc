#include "agents/large_neighborhood/window_proposals.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "agents/shared/devices.h"

namespace emplace {
namespace {

constexpr double kOther = 0.25;  // probability that list scheduling takes another device

}  // namespace

WindowProposer::WindowProposer(const Problem& problem)
    : problem_(problem), view_(problem), drawer_(problem), freed_(problem.num_groups(), 0) {
}

void WindowProposer::Set(const Placement& placement, const Outcome& outcome) {
  view_.Set(placement, outcome);
}

const Window& WindowProposer::DrawWindow(WindowKind kind, double largest, Rng& rng) {
  const double size = std::exp2(Uniform01(rng) * std::log2(std::max(1.0, largest)));
  drawer_.Draw(kind, static_cast<int>(size), view_, rng, window_);
  return window_;
}

int WindowProposer::DrawDevice(int group, Rng& rng) const {
  std::uint64_t mask = problem_.allowed_devices(group);
  for (int skip = UniformInt(rng, std::popcount(mask)); skip > 0; --skip) mask &= mask - 1;
  return FirstDevice(mask);
}

bool WindowProposer::ProposeTogether(WindowKind kind,
                                     const Placement& base,
                                     Rng& rng,
                                     MoveLists& lists) {
  DrawWindow(kind, 0.5 * problem_.num_groups(), rng);
  int aim = window_.aim;
  if (aim < 0) {
    const int group = window_.groups[UniformInt(rng, static_cast<int>(window_.groups.size()))];
    const auto edges = problem_.neighbors(group);
    aim = edges.empty() || Uniform01(rng) < 0.5
              ? DrawDevice(group, rng)
              : base.device[edges[UniformInt(rng, static_cast<int>(edges.size()))].neighbor];
  }
  bool any = false;
  for (const int group : window_.groups) {
    if (base.device[group] == aim || !problem_.allowed(group, aim)) continue;
    lists.Add(group, aim);
    any = true;
  }
  if (any) lists.End();
  return any;
}

void WindowProposer::BeginLists(const Placement& base) {
  base_ = placed_ = base;
  finish_.assign(view_.finish().begin(), view_.finish().end());
}

// The first op with a duration decides on the device of its group.
bool WindowProposer::ProposeList(WindowKind kind, double largest, Rng& rng, MoveLists& lists) {
  DrawWindow(kind, largest, rng);
  const Grouping& grouping = problem_.grouping();
  const Cluster& cluster = problem_.cluster();
  struct Task {
    Nanos start;
    int op;
  };
  std::vector<Task> tasks;
  for (const int group : window_.groups) {
    Task task{kMaxNanos, -1};
    for (const int v : grouping.members(group)) {
      if (view_.finish()[v] > view_.start()[v] && view_.start()[v] < task.start) {
        task = {view_.start()[v], v};
      }
    }
    if (task.op >= 0) tasks.push_back(task);
    freed_[group] = 1;
  }
  std::ranges::sort(tasks, {}, [](const Task& task) { return std::pair(task.start, task.op); });
  bool any = false;
  std::vector<Nanos> free(problem_.num_devices(), 0);  // end of the window's ops placed so far
  for (const auto& [old_start, op] : tasks) {
    const int group = grouping.group_of(op);
    int best = -1;
    Nanos best_finish = kMaxNanos;
    for (int d = 0; d < problem_.num_devices(); ++d) {
      if (!problem_.allowed(group, d)) continue;
      Nanos ready = 0;
      for (const OpInput& input : view_.inputs()[op]) {
        const int from = grouping.group_of(input.op);
        if (from == group) continue;
        ready = std::max(
            ready, finish_[input.op] + cluster.TransferTime(placed_.device[from], d, input.bytes));
      }
      const Nanos start = std::max(view_.FreeFrom(d, ready, freed_), free[d]);
      const Nanos finish = start + problem_.costs().at(op, d);
      if (finish >= best_finish) continue;
      best = d;
      best_finish = finish;
    }
    if (Uniform01(rng) < kOther) best = DrawDevice(group, rng);
    free[best] = std::max(free[best], best_finish);
    finish_[op] = best_finish;
    if (best != placed_.device[group]) {
      lists.Add(group, best);
      any = true;
    }
    placed_.device[group] = static_cast<DeviceIndex>(best);
  }
  if (any) lists.End();
  for (const auto& [start, op] : tasks) finish_[op] = view_.finish()[op];
  for (const int group : window_.groups) {
    freed_[group] = 0;
    placed_.device[group] = base_.device[group];
  }
  return any;
}

}  // namespace emplace
