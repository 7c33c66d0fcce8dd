#include "experiments/problem/step_interval.h"

#include <cmath>

#include <fmt/format.h>

#include "experiments/console/output.h"

namespace emplace {
namespace {

// Returns the step time in these semantics; 0 if the file does not give it
// (framework/cost/FORMAT.md).
double SimulatedTime(const HeldOutStep& step, Semantics semantics) {
  const bool has_neighbors = step.stream_ns > 0;
  switch (semantics) {
    case Semantics::kQueue:
      return step.queue_ns;
    case Semantics::kStream:
      return has_neighbors ? step.stream_ns : step.simulated_ns;
    case Semantics::kInterference:
      return has_neighbors ? step.simulated_ns : 0;
  }
  return 0;
}

}  // namespace

StepInterval MakeInterval(const std::vector<HeldOutStep>& steps, const std::string& where) {
  std::vector<double> log_ratios;
  for (const HeldOutStep& step : steps) {
    log_ratios.push_back(LogRatio(step.simulated_ns, step.measured_ns));
  }
  return {CalibrateInterval(log_ratios),
          fmt::format("{} held-out placements {}", steps.size(), where),
          ResolvedDifference(log_ratios)};
}

StepInterval FindInterval(const CostTable* table, const std::string& graph, Semantics semantics) {
  if (table == nullptr) return {{}, "no measured costs"};
  if (table->held_out.empty()) return {{}, "the costs have no held-out placements"};
  std::vector<HeldOutStep> own, all;
  for (HeldOutStep step : table->held_out) {
    step.simulated_ns = SimulatedTime(step, semantics);
    if (step.simulated_ns == 0) continue;
    if (step.graph == graph) own.push_back(step);
    all.push_back(std::move(step));
  }
  if (all.empty()) {
    return {{},
            fmt::format("the held-out placements of the costs are not simulated in {} semantics",
                        ToString(semantics))};
  }
  const StepInterval found = MakeInterval(own, "of " + graph);
  if (found.interval.is_bounded() || own.size() == all.size()) return found;
  StepInterval of_all =
      MakeInterval(all, own.empty() ? "of other graphs" : "of this and other graphs");
  of_all.resolved = found.resolved;  // the errors of graphs differ
  return of_all;
}

std::string FormatRatios(const PredictionInterval& interval) {
  if (!interval.is_bounded()) return "-";
  return fmt::format("{:+.1f} % .. {:+.1f} %", 100 * (interval.low - 1), 100 * (interval.high - 1));
}

std::string FormatInterval(const TimeInterval& interval) {
  return fmt::format("[{} .. {}]",
                     FormatTime(std::llround(interval.low)),
                     FormatTime(std::llround(interval.high)));
}

}  // namespace emplace
