#include "experiments/step_interval.h"

#include <cmath>

#include <fmt/format.h>

#include "experiments/output.h"

namespace emplace {
namespace {

PredictionInterval IntervalOf(const std::vector<HeldOutStep>& steps) {
  std::vector<double> log_ratios;
  for (const HeldOutStep& step : steps) {
    log_ratios.push_back(LogRatio(step.simulated_ns, step.measured_ns));
  }
  return CalibrateInterval(log_ratios);
}

}  // namespace

StepInterval MakeInterval(const std::vector<HeldOutStep>& steps, const std::string& where) {
  return {IntervalOf(steps), fmt::format("{} held-out placements {}", steps.size(), where)};
}

StepInterval FindInterval(const CostTable* table, const std::string& graph) {
  if (table == nullptr) return {{}, "no measured costs"};
  if (table->held_out.empty()) return {{}, "the costs have no held-out placements"};
  std::vector<HeldOutStep> own;
  for (const HeldOutStep& step : table->held_out) {
    if (step.graph == graph) own.push_back(step);
  }
  StepInterval found = MakeInterval(own, "of " + graph);
  if (found.interval.is_bounded() || own.size() == table->held_out.size()) return found;
  return MakeInterval(table->held_out,
                      own.empty() ? "of other graphs" : "of this and other graphs");
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
