#include "framework/bounds/lower_bound.h"

#include <chrono>
#include <cstdint>
#include <limits>

#include "framework/bounds/bounds.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/period_bound.h"
#include "framework/bounds/segments.h"
#include "framework/bounds/window_bounds.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

// Delays that one pass over the DelayGraph looks at, roughly.
std::int64_t EffortOfPass(const Problem& problem) {
  std::int64_t edges = problem.num_ops();
  for (int v = 0; v < problem.num_ops(); ++v) edges += std::ssize(problem.graph().predecessors(v));
  return edges * problem.num_devices() * problem.num_devices();
}

}  // namespace

LowerBound ProveBound(const Problem& problem, const ProofOptions& options) {
  if (problem.objective() == Objective::kPeriod) return ProvePeriodBound(problem, options);
  const auto begin = Clock::now();
  LowerBound best;
  const auto improve = [&](Nanos value, const char* method) {
    options.interrupt.Check();
    if (value <= best.value && !best.method.empty()) return;
    best = {value, method};
    if (options.improved) options.improved(best);
  };
  const Bounds bounds = ComputeBounds(problem);
  improve(bounds.work, "work");
  improve(bounds.critical_path, "critical_path");

  constexpr std::int64_t kMostEffortOfPass = 100'000'000;  // well under a second
  if (EffortOfPass(problem) > kMostEffortOfPass) return best;
  DelayGraph graph(problem);
  improve(BoundByWindows(graph, 0), "windows");
  int round = AddQuickSegments(graph);
  improve(BoundByWindows(graph, 0), "segments");
  const auto late = [&] {
    options.interrupt.Check();
    return std::chrono::duration<double>(Clock::now() - begin).count() > options.seconds;
  };
  constexpr int kSteps = 10, kMostRounds = 20;
  for (; round < kMostRounds && best.value < options.known; ++round) {
    for (const double share : {kCriticalShare, 0.0}) {
      if (late()) return best;
      SegmentLimits limits = SegmentLimits::OfRound(round);
      limits.share = share;
      AddSegments(graph, limits, std::numeric_limits<std::int64_t>::max(), late);
      improve(BoundByWindows(graph, kSteps, options.known), "segments");
    }
    if (SegmentLimits::OfRound(round).ops > problem.num_ops()) break;
  }
  return best;
}

}  // namespace emplace
