#include "framework/bounds/lower_bound.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "framework/bounds/bounds.h"
#include "framework/bounds/cut_bound.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/period_bound.h"
#include "framework/bounds/segments.h"
#include "framework/bounds/window_bounds.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kTimeIsUp = "time is up";

// Returns the approximate number of delays that one pass over the DelayGraph reads.
std::int64_t EffortOfPass(const Problem& problem) {
  std::int64_t edges = problem.num_ops();
  for (int v = 0; v < problem.num_ops(); ++v) edges += std::ssize(problem.graph().predecessors(v));
  return edges * problem.num_devices() * problem.num_devices();
}

}  // namespace

Proof ProveBound(const Problem& problem, const ProofOptions& options) {
  const auto begin = Clock::now();
  LowerBound best = options.proved;
  const auto improve = [&](Nanos value, const std::string& method) {
    options.interrupt.Check();
    if (value <= best.value && !best.method.empty()) return;
    best = {value, method};
    if (options.improved) options.improved(best);
  };
  const auto late = [&](double share = 1) {
    options.interrupt.Check();
    const std::chrono::duration<double> passed = Clock::now() - begin;
    return passed.count() > share * options.seconds;
  };
  const auto ended = [&](const char* why) {
    return Proof{best, best.value >= options.known ? "" : why};
  };
  if (problem.objective() == Objective::kPeriod) {
    ProofOptions period = options;
    period.improved = [&](const LowerBound& bound) { improve(bound.value, bound.method); };
    const LowerBound bound = ProvePeriodBound(problem, period);
    improve(bound.value, bound.method);
    return ended(late() ? kTimeIsUp : "the mixed-integer program of the period is solved");
  }
  const Bounds bounds = ComputeBounds(problem);
  improve(bounds.work, "work");
  improve(bounds.critical_path, "critical_path");

  constexpr std::int64_t kMostEffortOfPass = 100'000'000;  // well under a second
  if (EffortOfPass(problem) > kMostEffortOfPass) {
    return ended("the graph is too large for bounds other than work and critical path");
  }
  DelayGraph graph(problem);
  improve(BoundByWindows(graph, 0), "windows");
  int round = AddQuickSegments(graph);
  improve(BoundByWindows(graph, 0), "segments");
  // Programs that ignore the order of ops help if work and memory are the limit, not paths.
  constexpr double kShareOfCuts = 0.1, kNearWork = 0.9;
  const bool by_work =
      static_cast<double>(bounds.work) > kNearWork * static_cast<double>(best.value);
  if (!late() && (by_work || NeedsSeveralDevices(problem))) {
    DeviceMasks masks = AllowedDevices(problem);
    const Nanos target = options.known - 1;  // only better placements matter
    if (WindowBounds(graph).Bound(masks, target, WindowParts::kGroups) <= target) {
      const auto stop = [&] { return late(kShareOfCuts); };
      ProveCuts(problem, masks, std::max<Nanos>(1, best.value), stop, [&](Nanos value) {
        improve(std::min(value, options.known), "cuts");
        return stop() || best.value >= options.known;
      });
    }
  }
  constexpr int kSteps = 10, kMostRounds = 20;
  for (; round < kMostRounds && best.value < options.known; ++round) {
    for (const double share : {kCriticalShare, 0.0}) {
      if (late()) return ended(kTimeIsUp);
      SegmentLimits limits = SegmentLimits::OfRound(round);
      limits.share = share;
      AddSegments(graph, limits, std::numeric_limits<std::int64_t>::max(), [&] { return late(); });
      improve(BoundByWindows(graph, kSteps, options.known, best.value), "segments");
    }
    if (SegmentLimits::OfRound(round).ops > problem.num_ops()) break;
  }
  return ended("segment search is complete");
}

}  // namespace emplace
