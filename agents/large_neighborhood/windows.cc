#include "agents/large_neighborhood/windows.h"

#include <algorithm>
#include <bit>

namespace emplace {
namespace {

// Most groups or ops to examine per group of the requested size.
constexpr int kLooks = 8;

}  // namespace

WindowDrawer::WindowDrawer(const Problem& problem)
    : problem_(problem), in_(problem.num_groups(), 0) {
  for (const int group : problem.group_order()) {
    if (std::popcount(problem.allowed_devices(group)) > 1) movable_.push_back(group);
  }
}

bool WindowDrawer::Add(int group, Window& window) {
  if (in_[group] || std::popcount(problem_.allowed_devices(group)) < 2) return false;
  in_[group] = 1;
  window.groups.push_back(group);
  return true;
}

void WindowDrawer::DrawRun(std::span<const int> from, int size, Rng& rng, Window& window) {
  const int count = static_cast<int>(from.size());
  const int length = std::min(size, count);
  const int first = std::clamp(UniformInt(rng, count + length) - length, 0, count - length);
  for (int i = first; i < first + length; ++i) Add(from[i], window);
}

void WindowDrawer::DrawNear(int size, Rng& rng, Window& window) {
  Add(movable_[UniformInt(rng, static_cast<int>(movable_.size()))], window);
  for (int look = 0; look < kLooks * size && std::ssize(window.groups) < size; ++look) {
    const int from = window.groups[UniformInt(rng, static_cast<int>(window.groups.size()))];
    const auto edges = problem_.neighbors(from);
    if (edges.empty()) continue;
    Add(edges[UniformInt(rng, static_cast<int>(edges.size()))].neighbor, window);
  }
}

void WindowDrawer::DrawIdle(int size, const ScheduleView& view, Rng& rng, Window& window) {
  const ScheduleView::Idle idle = view.DrawIdle(rng);
  const auto time =
      idle.start + static_cast<Nanos>(Uniform01(rng) * static_cast<double>(idle.end - idle.start));
  const auto ops = view.by_start();
  const auto first =
      std::ranges::lower_bound(ops, time, {}, [&](int v) { return view.start()[v]; }) - ops.begin();
  const auto last =
      std::min<std::ptrdiff_t>(std::ssize(ops), first + kLooks * std::ptrdiff_t(size));
  for (auto i = first; i < last && std::ssize(window.groups) < size; ++i) {
    const int group = problem_.grouping().group_of(ops[i]);
    if (problem_.allowed(group, idle.device)) Add(group, window);
  }
  window.aim = idle.device;
}

void WindowDrawer::Draw(WindowKind kind,
                        int size,
                        const ScheduleView& view,
                        Rng& rng,
                        Window& window) {
  window.groups.clear();
  window.aim = -1;
  if (kind == WindowKind::kCritical && !view.critical().empty()) {
    DrawRun(view.critical(), size, rng, window);
  } else if (kind == WindowKind::kNear) {
    DrawNear(size, rng, window);
  } else if (kind == WindowKind::kIdle && view.any_idle()) {
    DrawIdle(size, view, rng, window);
  }
  if (window.groups.empty()) {
    window.aim = -1;
    DrawRun(movable_, size, rng, window);
  }
  for (const int group : window.groups) in_[group] = 0;
}

}  // namespace emplace
